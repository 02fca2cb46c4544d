import pino from 'pino';
import { SubmitListener } from '../../../workers/submits/listener';
import { eventually } from '../../helpers/eventually';
import type { SqlShop } from '../../postgres/submit/shop';
import { openSqlShop } from '../../postgres/submit/shop';

/** What a process does of tasks that were submitted by SQL, as soon as it hears of their commit. */

let shop: SqlShop;
let listener: SubmitListener;
const rung: number[] = [];
let releases = 0;
const warnings: { targetId: number; msg: string }[] = [];
let isAway = false;
beforeAll(async () => {
  shop = await openSqlShop();
  listener = new SubmitListener({
    pool: shop.database.pool,
    log: pino({ level: 'warn' }, { write: (line: string) => void warnings.push(JSON.parse(line)) }),
    ring: async (ids) => {
      if (isAway) throw new Error('away');
      rung.push(...ids);
    },
    release: async () => void releases++,
  });
  await listener.listen();
});
beforeEach(() => {
  rung.splice(0);
  warnings.splice(0);
  releases = 0;
  isAway = false;
});
afterAll(async () => {
  await listener.close();
  await shop.stop();
});

const submit = (id: string, customer: string): Promise<unknown> =>
  shop.sql(`select submit('orders', '${id}', '{"customer": "${customer}", "total": 1}', '${customer}')`);
const targetOf = async (customer: string): Promise<number> =>
  (await shop.sql(`select id from target where key = '${customer}'`))[0]!['id'] as number;

test('the target of a task is rung when its submit commits, and not for one that is rolled back', async () => {
  await submit('first', 'ada');
  await eventually(() => rung.length > 0);
  expect(rung).toEqual([await targetOf('ada')]);
  const session = await shop.database.pool.connect();
  try {
    await session.query({ text: 'begin' });
    await session.query({ text: `select submit('orders', 'undone', '{"customer": "eve", "total": 1}', 'eve')` });
    await session.query({ text: 'rollback' });
  } finally {
    session.release();
  }
  await submit('second', 'bob');
  await eventually(() => rung.length > 1);
  expect(rung).toEqual([await targetOf('ada'), await targetOf('bob')]);
  expect([releases, warnings]).toEqual([0, []]);
});

test('what other schemas and other channels tell is not meant', async () => {
  await shop.sql(`select pg_notify('muster_submitted', 'elsewhere 7')`);
  await shop.sql(`select pg_notify('another_channel', 'muster 7')`);
  await shop.sql(`select pg_notify('muster_submitted', 'muster x')`);
  await submit('third', 'carl');
  await eventually(() => rung.length > 0);
  expect(rung).toEqual([await targetOf('carl')]);
});

test('a task that waits for what has ended is released, and its target is not rung', async () => {
  await shop.sql(`select pg_notify('muster_submitted', 'muster 7 ended')`);
  await eventually(() => releases === 1);
  await submit('fourth', 'dora');
  await eventually(() => rung.length > 0);
  expect([rung, releases]).toEqual([[await targetOf('dora')], 1]);
});

test('a ring that fails is logged with its target, and the next one is tried', async () => {
  isAway = true;
  await submit('fifth', 'emil');
  await eventually(() => warnings.length > 0);
  const targetId = await targetOf('emil');
  expect(warnings).toMatchObject([
    { targetId, msg: 'a submitted task was not rung; the sweeper will do it', err: { message: 'away' } },
  ]);
  isAway = false;
  await submit('sixth', 'emil');
  await eventually(() => rung.length > 0);
  expect(rung).toEqual([targetId]);
});

test('one that listens no more hears nothing, and may listen again', async () => {
  await listener.close();
  await submit('seventh', 'fritz');
  await listener.listen();
  await submit('eighth', 'gerd');
  await eventually(() => rung.length > 0);
  expect(rung).toEqual([await targetOf('gerd')]);
});
