import { setTimeout as sleep } from 'node:timers/promises';
import { randomUUID } from 'node:crypto';
import { grantLanes } from '../../activities/lanes/grant';
import { defineHandler } from '../../handlers';
import { DEFAULT_NODE_SETTINGS } from '../../activities/nodes/settings';
import { markServedWaiting, wakeServedWaiting } from '../../postgres/nodes/served';
import { UNSERVED } from '../../workflows/planning/grouping/next';
import { queuerWorkflowId } from '../../workflows/naming';
import { eventually } from '../helpers/eventually';
import { actionsOf } from '../workflows/histories';
import type { OwnMuster } from '../workflows/ownNode';
import { openOwn } from '../workflows/ownNode';
import { Downstream, items } from './downstream';
import { openLaneStore } from './laneStore';

/**
 * Lanes whose batches no node can take: they cost next to nothing, and go as soon as a node can.
 *
 * @full
 */

const downstream = new Downstream();
/** In any order, so that one handler's batches may go while another's wait. */
const lane = { approach: 'unconstrained' } as const;
const edits = downstream.handler({ lane });
const fixes = downstream.handler({ name: 'fixes', lane });
const zoned = downstream.handler({ name: 'zoned', affinity: { partitions: 4, attributes: { zone: 'eu' } } });
const placed = defineHandler({
  name: 'placed',
  target: () => 'one',
  limits: { maxItems: 10 },
  affinity: { partitions: 1 },
  submit: () => Promise.resolve({ results: [] }),
});
const other = defineHandler({
  name: 'other',
  target: () => 'one',
  limits: { maxItems: 10 },
  submit: () => Promise.resolve({ results: [] }),
});
const FAST = { leaseMs: 3_000, maxLeaseMs: 20_000, shutdownLimitMs: 1_500, minimumHoldMs: 0 };
/** The ring's promise. */
const SOON_MS = 5_000;

let own: OwnMuster;
beforeEach(async () => {
  own = await openOwn([edits, fixes, zoned, other]);
});
afterEach(() => own.stop());

const one = async <R extends object>(text: string): Promise<R> => (await own.database.pool.query<R>(text)).rows[0]!;
const turns = async (): Promise<number> => (await one<{ turn: number }>('select turn from queuer')).turn;
const actions = async (): Promise<number> => {
  const handle = (await own.client.temporal()).workflow.getHandle(queuerWorkflowId(own.prefix, 0));
  return actionsOf((await handle.fetchHistory()).events ?? []);
};
/** The queuer found the lane, and rests. */
const untilItWaits = (): Promise<unknown> =>
  eventually(
    async () =>
      (
        await one<{ waits: boolean }>(
          'select state = 2 and exists (select from lane_state where unserved_by is not null and not ready) as waits from queuer',
        )
      ).waits,
    { timeoutMs: 20_000, what: 'the queuer to wait for a node' },
  );
/** Turns and actions of the queuer in that time. */
const costOf = async (ms: number): Promise<{ turns: number; actions: number }> => {
  const before = { turns: await turns(), actions: await actions() };
  await sleep(ms);
  return { turns: (await turns()) - before.turns, actions: (await actions()) - before.actions };
};
/** The look of a minute is far away from here on: who goes was told. */
const withoutLook = (): Promise<unknown> =>
  own.database.pool.query(`update lane_state set due_at = clock() + interval '1 h'`);
const seenWithin = (service: string, ms: number): Promise<unknown> =>
  eventually(() => downstream.seen.some((seen) => seen.service === service), {
    timeoutMs: ms,
    what: `a call for ${service} within ${ms} ms`,
  });
/** Registers all handlers, then serves `other` only. */
const withoutTheirNode = async (sweepEveryMs: number): Promise<void> => {
  const first = await own.startNode();
  await first();
  await own.startNode({ handlers: [other], sweepEveryMs });
};

test('no process has the handler: two looks in 12 s at most; the one that joins is told at once', async () => {
  await withoutTheirNode(0);
  for (const service of ['a', 'b', 'c']) await own.client.submitBatch('edits', service, items(service));
  await untilItWaits();
  const cost = await costOf(12_000);
  process.stdout.write(`queuer, no process has the handler: ${JSON.stringify(cost)} in 12 s\n`);
  // The look of a minute may fall into it.
  expect(cost.turns).toBeLessThanOrEqual(2);
  expect(cost.actions).toBeLessThanOrEqual(5); // a look every 3 s makes 8
  await withoutLook();
  await own.startNode();
  await Promise.all(['a', 'b', 'c'].map((service) => seenWithin(service, SOON_MS)));
});

test('a lane whose next batches are of two handlers without a node goes on with either one’s node', async () => {
  await withoutTheirNode(0);
  await own.client.submitBatch('edits', 'two', items('of-edits'));
  await own.client.submitBatch('fixes', 'two', items('of-fixes'));
  await untilItWaits();
  await withoutLook();
  await own.startNode({ handlers: [fixes] });
  await eventually(() => downstream.seen.some(({ ids }) => ids[0]!.startsWith('of-fixes')), {
    timeoutMs: SOON_MS,
    what: 'a call of the handler that has a node',
  });
});

test('a node that could not tell when it joined: the sweeper does', async () => {
  await withoutTheirNode(500);
  await own.client.submitBatch('edits', 'd', items('d'));
  await untilItWaits();
  await withoutLook();
  const session = await own.database.pool.connect();
  try {
    await session.query('begin; select from lane_state for update');
    await own.startNode();
    await eventually(
      async () =>
        (await one<{ n: number }>(`select count(*)::int as n from node where 'edits' = any(handlers) and not draining`))
          .n === 1,
    );
    await sleep(1_000);
    expect((await one<{ ready: boolean }>('select ready from lane_state')).ready).toBe(false);
    await session.query('rollback');
  } finally {
    session.release();
  }
  await seenWithin('d', SOON_MS);
});

test('no node can hold the partition: hardly a turn; one that can gets it, and the lane goes', async () => {
  await own.startNode({ nodes: { ...FAST, attributes: { zone: 'us' } }, sweepEveryMs: 500 });
  await own.client.submitBatch('zoned', 'z', items('z'));
  await untilItWaits();
  const cost = await costOf(12_000);
  process.stdout.write(`queuer, no node can hold the partition: ${JSON.stringify(cost)} in 12 s\n`);
  expect(cost.turns).toBeLessThanOrEqual(2);
  expect(cost.actions).toBeLessThanOrEqual(5); // a look every 3 s makes 8
  await withoutLook();
  await own.startNode({ nodes: { ...FAST, attributes: { zone: 'eu' } } });
  await seenWithin('z', SOON_MS);
});

test('any number of such lanes is looked at in one moment, and marked only where handler and partition are served', async () => {
  const shop = await openLaneStore([edits, zoned]);
  const { pool } = shop.database;
  try {
    for (const service of ['a', 'b', 'c']) await shop.client.submitBatch('edits', service, items(service));
    await shop.client.submitBatch('zoned', 'z', items('z'));
    const run = { queuerId: 0, runId: randomUUID(), runStartedAtMs: 1, live: [], mayClaim: true };
    const deps = { pool, leaseMs: 15_000, nodes: DEFAULT_NODE_SETTINGS, log: { error: () => undefined } };
    await grantLanes(deps, { ...run, turn: 1 });
    const { rows: waiting } = await pool.query<{ due: number; n: number }>(
      `select count(*)::int as n, round(extract(epoch from due_at))::int as due from lane_state where unserved_by is not null and not ready group by 2`,
    );
    expect(waiting).toEqual([{ n: 4, due: expect.any(Number) }]);
    expect(waiting[0]!.due % 60).toBe(0);
    expect(await markServedWaiting(pool, 30_000, 100)).toEqual([]);
    const marked = async (): Promise<unknown> =>
      (
        await pool.query<{ service: string }>(
          'select l.service from lane_state s join lane l on l.id = s.lane_id where s.ready order by 1',
        )
      ).rows.map(({ service }) => service);
    await shop.pretendWorker(['zoned']);
    expect(await markServedWaiting(pool, 30_000, 100)).toEqual([]);
    await pool.query(
      `update lease set holder = 'n', expires_at = clock() + interval '1 h', revoked_at = clock() where resource like 'partition/zoned/%'`,
    );
    expect(await markServedWaiting(pool, 30_000, 100)).toEqual([]);
    await pool.query(`update lease set revoked_at = null where resource like 'partition/zoned/%'`);
    expect(await markServedWaiting(pool, 30_000, 100)).toEqual([0]);
    expect(await marked()).toEqual(['z']);
    await pool.query(`update node set handlers = '{edits}'`);
    expect(await markServedWaiting(pool, 30_000, 2)).toEqual([0]);
    expect(await markServedWaiting(pool, 30_000, 2)).toEqual([0]);
    expect(await marked()).toEqual(['a', 'b', 'c', 'z']);
  } finally {
    await shop.stop();
  }
});

test('a leader that found no holder is woken where there is one, and no other that is blocked', async () => {
  const shop = await openLaneStore([placed]);
  const { pool } = shop.database;
  try {
    await shop.client.submit('placed', { id: 'p', payload: {} });
    const blocked = (heldBy: string): Promise<unknown> =>
      pool.query(`update leader set state = 2, blocked = true, wake_at = clock() + interval '1 min', answer = $1`, [
        JSON.stringify({ heldBy }),
      ]);
    const woken = async (): Promise<number> => (await wakeServedWaiting(pool, UNSERVED, 3_000)).length;
    await blocked(UNSERVED);
    expect(await woken()).toBe(0);
    await pool.query(
      `update lease set holder = 'n', expires_at = clock() + interval '1 h' where resource like 'partition/%'`,
    );
    await blocked('rate');
    expect(await woken()).toBe(0);
    await blocked(UNSERVED);
    expect([await woken(), await woken()]).toEqual([1, 0]);
  } finally {
    await shop.stop();
  }
});
