import { fanouts as INVARIANTS } from '../../postgres/invariants/fanouts';
import { expectWhole } from '../helpers/whole';
import type { FanoutShop } from './shop';
import { openFanoutShop } from './shop';

/**
 * Every invariant of fan-outs finds what it is there for, planted by hand; and the checks of the
 * table refuse what they can.
 */

let shop: FanoutShop;
let open = '';
let complete = '';
beforeAll(async () => {
  shop = await openFanoutShop();
  const notify = { workflowId: 'nobody' };
  open = (await shop.client.openFanout({ segmentSize: 10, notify })).id;
  const ids = [...(await shop.client.addItems(open, 25))];
  await shop.client.ackItems(ids.slice(0, 12));
  complete = (await shop.client.openFanout({ segmentSize: 10, notify })).id;
  const added = await shop.client.addItems(complete, 3);
  await shop.client.sealFanout(complete);
  await shop.client.ackItems(added);
});
afterAll(() => shop.stop());

test('a store with fan-outs is whole', () => expectWhole(shop.client));

const idOf = (fanout: string): string => `(select id from fanout where public_id = '${fanout}')`;
const dropChecks = (table: string): string =>
  `do $$ declare c text; begin for c in select conname from pg_constraint where conrelid = '${table}'::regclass and contype = 'c'
     loop execute format('alter table ${table} drop constraint %I', c); end loop; end $$`;
const PLANTS: Record<string, () => string[]> = {
  'the open segments of a fan-out are those with bits': () => [
    `update segment set bits = put_bits(bits, '{0,1,2,3,4,5,6,7,8,9}', 0) where fanout_id = ${idOf(open)}  and no = 1`,
  ],
  'the items of a fan-out are the sum of its segments': () => [
    `delete from segment where fanout_id = ${idOf(open)} and no = 2`,
  ],
  'a fan-out is complete iff it is sealed and has no open segment': () => [
    dropChecks('fanout'),
    `update fanout set state = 1, sealed_at = clock(), open_segments = 0 where public_id = '${open}'`,
  ],
  'a segment is not larger than its fan-out allows, and its unused bits are 0': () => [
    `update segment set bits = set_bit(bits, 15, 1) where fanout_id = ${idOf(open)} and no = 1`,
  ],
  'the end of a fan-out is told once to who asked for it': () => [
    `delete from notification where fanout_id = ${idOf(complete)}`,
  ],
  'a message of a fan-out says how it ended': () => [
    `update notification set body = body || '{"type": "fanout.expired"}' where fanout_id = ${idOf(complete)}`,
  ],
};

test('there is a plant for each', () => {
  expect(Object.keys(PLANTS)).toEqual(INVARIANTS.map(({ name }) => name));
});

test.each(INVARIANTS.map(({ name }) => name))('found: %s', async (name) => {
  const { text } = INVARIANTS.find((one) => one.name === name)!;
  await inRolledBack(async (run) => {
    for (const plant of PLANTS[name]!()) await run(plant);
    expect(await run(text)).toBeGreaterThan(0);
  });
  expect((await shop.pool.query(text)).rows).toEqual([]);
});

/**
 * A lost completion cannot even be written: the row that it would leave is against the table's
 * checks.
 */
test.each([
  [
    'sealed, with nothing open',
    `update fanout set state = 1, sealed_at = clock(), open_segments = 0 where public_id = `,
    () => open,
  ],
  [
    'complete, with open segments',
    `update fanout set state = 2, sealed_at = clock(), completed_at = clock() where public_id = `,
    () => open,
  ],
  ['complete, then open again', `update fanout set state = 0 where public_id = `, () => complete],
  ['complete without its time', `update fanout set completed_at = null where public_id = `, () => complete],
  ['more open segments than segments', `update fanout set open_segments = segments + 1 where public_id = `, () => open],
] as [string, string, () => string][])('refused by the table: %s', async (_, statement, fanout) => {
  await expect(shop.pool.query(`${statement}'${fanout()}'`)).rejects.toMatchObject({ code: '23514' });
});

test('a second event of a fan-out is refused by the table [D3]', async () => {
  const again = `insert into notification (fanout_id, recipient_id, body, next_at) select fanout_id, recipient_id, body, clock() from notification where fanout_id = ${idOf(complete)}`;
  await expect(shop.pool.query(again)).rejects.toMatchObject({ code: '23505' });
});

const inRolledBack = async (work: (run: (text: string) => Promise<number>) => Promise<void>): Promise<void> => {
  const session = await shop.pool.connect();
  try {
    await session.query('begin');
    await work(async (text) => (await session.query(text)).rowCount ?? 0);
  } finally {
    await session.query('rollback');
    session.release();
  }
};
