import { lanes as INVARIANTS } from '../../postgres/invariants/lanes';
import type { Client } from '../../client';
import type { TestDatabase } from '../helpers/database';
import { expectWhole } from '../helpers/whole';
import { items } from './downstream';
import type { LaneStore } from './laneStore';
import { openLaneStore } from './laneStore';

/** Every invariant of lanes finds what it is there for, planted by hand. */

let shop: LaneStore;
let database: TestDatabase;
let client: Client;
let first = 0;
let second = 0;
let other = 0;
beforeAll(async () => {
  shop = await openLaneStore();
  ({ database, client } = shop);
  first = (await client.submitBatch('edits', 'po-1', items('po-1', 2))).batch;
  second = (await client.submitBatch('edits', 'po-1', items('po-1', 2))).batch;
  other = (await client.submitBatch('edits', 'po-2', items('po-2'), { dependsOn: [first] })).batch;
  await database.pool.query(
    `insert into node (id, task_queue, handlers, started_at, seen_at) values ('n1', 'q', '{edits}', clock() - interval '1 hour', clock() + interval '1 hour')`,
  );
  await database.pool.query(`update queuer set state = 1, wake_at = null, expires_at = clock() + interval '1 hour'`);
});
afterAll(() => shop.stop());

test('a store with batches in lanes is whole', async () => {
  await expectWhole(client);
});

const lane = (service: string): string => `(select id from lane where service = '${service}')`;
const inFlight = (batch: () => number): string[] => [
  `update lane_batch set status = 3, submitter = 1 where batch_id = ${batch()}`,
  `update batch set dispatch = 1 where id = ${batch()}`,
  `update lane_state set pending = pending + 1 where lane_id = (select lane_id from lane_batch where batch_id = ${batch()})`,
];
const PLANTS: Record<string, () => string[]> = {
  'a lane has its state': () => [`delete from lane_state where lane_id = ${lane('po-2')}`],
  'a batch stands in the lane that its target feeds': () => [
    `update batch set target_id = (select target_id from lane_batch where batch_id = ${other}) where id = ${first}`,
  ],
  'the members of a batch in a lane stand in the order of the lane': () => [
    `update batch set members = array[members[2], members[1]] where id = ${second}`,
  ],
  'an open batch of a lane has a place in it': () => [`delete from lane_batch where batch_id = ${second}`],
  'the status in the lane agrees with the batch': () => [`update lane_batch set status = 10 where batch_id = ${first}`],
  'a lane counts what is in flight': () => [`update lane_state set pending = 3 where lane_id = ${lane('po-1')}`],
  'a serial lane has one batch in flight, its first': () => inFlight(() => second),
  'batches that conflict are not in flight together': () => [
    `update lane set approach = 2`,
    `update lane_batch set writes = '{a}' where batch_id = ${first}`,
    `update lane_batch set reads = '{a,b}' where batch_id = ${second}`,
    ...inFlight(() => first),
    ...inFlight(() => second),
  ],
  'what depends on a batch that is not committed was not sent': () => inFlight(() => other),
  'a lane is halted by one of its batches': () => [
    `update lane_state set halted_by = ${other}, halted_at = clock() where lane_id = ${lane('po-1')}`,
  ],
  'a parked batch halts its lane': () => [
    `update batch set state = 3 where id = ${first}`,
    `update lane_batch set status = 6 where batch_id = ${first}`,
  ],
  'a task waits in the lane that its target feeds': () => [
    `insert into lane_queue (lane_id, seq, target_id, ready_at, bytes) select ${lane('po-2')}, k.seq, k.target_id, clock(), 1
     from task k join target t on t.id = k.target_id where t.lane_id = ${lane('po-1')} limit 1`,
  ],
  'a lane that may go on is looked at': () => [`update lane_state set ready = false where lane_id = ${lane('po-1')}`],
  'a queuer with work and free submitters looks in time': () => [`update queuer set state = 0, expires_at = null`],
  'a woken queuer takes a turn': () => [`update queuer set woken_at = clock() - interval '31 s'`],
  'a call of a lane is concluded after its deadline': () => [
    ...inFlight(() => first),
    `update batch set attempt = 1, started_at = clock(), attempt_until = clock() - interval '46 s' where id = ${first}`,
  ],
  'a granted batch has a submitter that lives': () => inFlight(() => first),
};

test('a lane is looked at, too, that waits for what the downstream has and keeps in order', async () => {
  const session = await database.pool.connect();
  const { text } = INVARIANTS.find(({ name }) => name === 'a lane that may go on is looked at')!;
  try {
    await session.query('begin');
    await session.query(`update lane_state set ready = false where lane_id = ${lane('po-2')}`);
    await session.query(`update lane_batch set status = 4 where batch_id = ${first}`);
    expect((await session.query(text)).rows).toEqual([]);
    await session.query('update handler set hands_dependencies = true');
    expect((await session.query(text)).rows).toEqual([{ service: 'po-2', batch: other }]);
  } finally {
    await session.query('rollback');
    session.release();
  }
});

test('there is a plant for each', () => {
  expect(Object.keys(PLANTS)).toEqual(INVARIANTS.map(({ name }) => name));
});

test.each(INVARIANTS.map(({ name }) => name))('found: %s', async (name) => {
  const session = await database.pool.connect();
  try {
    await session.query('begin');
    for (const text of PLANTS[name]!()) await session.query(text);
    const { text } = INVARIANTS.find((one) => one.name === name)!;
    expect((await session.query(text)).rows.length).toBeGreaterThan(0);
  } finally {
    await session.query('rollback');
    session.release();
  }
  const clean = await database.pool.query(INVARIANTS.find((one) => one.name === name)!.text);
  expect(clean.rows).toEqual([]);
});
