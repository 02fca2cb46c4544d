import { balancePartitions } from '../../activities/nodes/balance';
import { Keeper } from '../../activities/nodes/heartbeat/keeper';
import type { FromThread } from '../../activities/nodes/heartbeat/messages';
import { DEFAULT_NODE_SETTINGS } from '../../activities/nodes/settings';
import { defineHandler } from '../../handlers';
import { registerHandler } from '../../postgres/grouping/handler';
import { touchNode } from '../../postgres/nodes/node';
import { assignPartitions, partitionResource, revokePartitions } from '../../postgres/nodes/partition';
import { readHeldPartitions, releasePartitions, renewPartitions } from '../../postgres/nodes/partitionLease';
import { SteppedClock } from '../helpers/clock';
import type { TestDatabase } from '../helpers/database';
import { createDatabase } from '../helpers/database';
import { eventually } from '../helpers/eventually';

/**
 * Each limit of a partition to the millisecond, in rounds of the balancer on a clock that stands
 * still (B10, B11, B13, B16; nodes.md, expiry).
 */

const LEASE_MS = 1_000;
const nodes = { ...DEFAULT_NODE_SETTINGS, leaseMs: LEASE_MS, shutdownLimitMs: 600, minimumHoldMs: 400 };
const [FIRST, SECOND] = [partitionResource('orders', 0), partitionResource('orders', 1)];
let database: TestDatabase;
let clock: SteppedClock;
let at: number;

beforeEach(async () => {
  database = await createDatabase();
  clock = await SteppedClock.create(database.pool);
  // Well after the server's start: until a lease later nothing counts as expired.
  at = (await clock.unixMs()) + 600_000;
  await clock.set(at);
  const orders = defineHandler<{ shop: string }>({
    name: 'orders',
    target: ({ shop }) => shop,
    limits: { maxItems: 1 },
    affinity: { partitions: 2 },
    submit: () => Promise.resolve({ results: [] }),
  });
  await registerHandler(database.pool, orders);
});
afterEach(() => database.drop());

const rowOf = (id: string, name: string | null = null) => ({
  ...{ id, name, taskQueue: 'q', handlers: ['orders'], version: '1', draining: false },
});
const sign = (id: string, name: string | null = null): Promise<unknown> => touchNode(database.pool, rowOf(id, name));
const give = (partition: string, node: string): Promise<string[]> =>
  assignPartitions(database.pool, [{ partition, epoch: 0, node, reason: 'test' }], LEASE_MS);
const renew = (partition: string, node: string): Promise<void> =>
  renewPartitions(database.pool, node, [{ id: partition, epoch: 1 }], LEASE_MS);
/** A round so long after the start of the test; `a` has just given a sign of life. */
const roundAfter = async (ms: number): Promise<void> => {
  await clock.set(at + ms);
  await sign('a');
  const deps = { pool: database.pool, prefix: 'p', nodes, log: { info: () => undefined } };
  await balancePartitions(deps as never, { runId: 'r', turn: 1 });
};
const leaseOf = async (partition: string): Promise<unknown> =>
  (
    await database.pool.query<{ holder: string | null; epoch: number; wanted: string | null }>(
      'select holder, epoch, wanted_by as wanted from lease where resource = $1',
      [partition],
    )
  ).rows[0];

test.each([
  [999, { holder: 'b', epoch: 1, wanted: null }],
  [1_000, { holder: 'a', epoch: 2, wanted: null }],
  [1_001, { holder: 'a', epoch: 2, wanted: null }],
])('a lease of 1,000 ms, %d ms old: %j [B16]', async (ms, expected) => {
  await sign('b');
  await give(FIRST, 'b');
  await give(SECOND, 'a');
  await clock.set(at + ms);
  await renew(SECOND, 'a');
  expect(await readHeldPartitions(database.pool, 'b')).toHaveLength(expected.holder === 'b' ? 1 : 0);
  await roundAfter(ms);
  expect(await leaseOf(FIRST)).toEqual(expected);
  expect(await leaseOf(SECOND)).toEqual({ holder: 'a', epoch: 1, wanted: null });
});

test.each([
  [599, { holder: 'b', epoch: 1, wanted: 'a' }],
  [600, { holder: 'a', epoch: 2, wanted: null }],
])('asked back with a shutdown limit of 600 ms, %d ms ago: %j [B10 B11]', async (ms, expected) => {
  await sign('b');
  await give(FIRST, 'b');
  await give(SECOND, 'b');
  await revokePartitions(database.pool, [{ partition: FIRST, epoch: 1, wantedBy: 'a', reason: 'test' }]);
  await roundAfter(ms);
  expect(await leaseOf(FIRST)).toEqual(expected);
});

test.each([
  [399, 0],
  [400, 1],
])('held for %d ms with a minimum hold of 400 ms: %d asked back [B13]', async (ms, expected) => {
  await sign('b');
  await give(FIRST, 'b');
  await give(SECOND, 'b');
  await roundAfter(ms);
  const asked = await database.pool.query(`select from lease where wanted_by = 'a'`);
  expect(asked.rowCount).toBe(expected);
});

test.each([
  [699, { holder: null, epoch: 1, wanted: null }],
  [700, { holder: 'a', epoch: 2, wanted: null }],
])('kept for 700 ms for a node that restarts, %d ms ago: %j', async (ms, expected) => {
  await give(FIRST, 'b');
  await releasePartitions(database.pool, 'b', [{ id: FIRST, epoch: 1 }], { name: 'blue', forMs: 700 });
  await roundAfter(ms);
  expect(await leaseOf(FIRST)).toEqual(expected);
});

test.each([
  [999, false],
  [1_000, true],
])('a holder that was silent for %d ms of a lease of 1,000 ms: another node tells its balancer: %s', async (ms, is) => {
  await sign('b');
  await give(FIRST, 'b');
  await clock.set(at + ms);
  const told: FromThread['kind'][] = [];
  const keeper = new Keeper(database.pool, ({ kind }) => void told.push(kind));
  keeper.setBeat({ row: rowOf('a'), everyMs: 60_000, silenceMs: 60_000 });
  keeper.setPartitions({ leaseMs: LEASE_MS, maxLeaseMs: 60_000 });
  // Its second look begins when all of the first is over.
  await eventually(() => {
    keeper.look(0);
    return told.filter((kind) => kind === 'partitions').length > 1;
  });
  expect(told.includes('silent-node')).toBe(is);
});
