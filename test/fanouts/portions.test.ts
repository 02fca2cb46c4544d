import { createClient } from '../../client';
import type { Client } from '../../client';
import { createPool } from '../../postgres/pool';
import type { Pool } from '../../postgres/pool';
import { temporalAddress } from '../helpers/database';
import type { FanoutShop } from './shop';
import { openFanoutShop } from './shop';

/** What an add and an ack send to Postgres where the caller sets no size of their portions. */

interface Statement {
  name: string;
  values: unknown[];
}
const sent: Statement[] = [];
let shop: FanoutShop;
let pool: Pool;
let client: Client;
beforeAll(async () => {
  shop = await openFanoutShop();
  pool = createPool({ databaseUrl: shop.database.url, max: 2 });
  const query = pool.query.bind(pool) as (statement: Statement) => Promise<unknown>;
  pool.query = ((statement: Statement) => (sent.push(statement), query(statement))) as never;
  client = createClient({ databaseUrl: '', pool, prefix: 'portions', temporal: { address: temporalAddress() } });
});
afterAll(async () => {
  await client.close();
  await pool.end();
  await shop.stop();
});
beforeEach(() => void sent.splice(0));

const valuesOf = (name: string): unknown[][] => sent.filter((one) => one.name === name).map(({ values }) => values);
/** Items of each statement that adds. */
const added = (): number[] => valuesOf('insert-segments').map(([, items]) => items as number);
/** Ids of each statement that acks or reopens: it has a list of bits per segment, as text. */
const named = (statement: string): number[] =>
  valuesOf(statement).map(([, , lists]) => (lists as string[]).join().split(',').length);

test('items are added by ten thousand per statement', async () => {
  const { id } = await client.openFanout({ segmentSize: 1 });
  await client.addItems(id, 10_000);
  expect(added()).toEqual([10_000]);
  await client.addItems(id, 20_001);
  expect(added().slice(1)).toEqual([10_000, 10_000, 1]);
});

test('whole segments only go into a statement: 512 items each are added by 9,728', async () => {
  const { id } = await client.openFanout();
  await client.addItems(id, 20_000);
  expect(added()).toEqual([9_728, 9_728, 544]);
});

test('ids are acked and reopened by a hundred per statement', async () => {
  const { id } = await client.openFanout();
  const ids = [...(await client.addItems(id, 1_001))];
  await client.ackItems(ids);
  expect(named('ack-items')).toEqual([...Array<number>(10).fill(100), 1]);
  await client.reopenItems(ids.slice(0, 150));
  expect(named('reopen-items')).toEqual([100, 50]);
});
