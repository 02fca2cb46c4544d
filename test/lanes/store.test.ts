import { DEFAULT_NODE_SETTINGS } from '../../activities/nodes/settings';
import { randomUUID } from 'node:crypto';
import { grantLanes } from '../../activities/lanes/grant';
import { lookAtLanes } from '../../activities/lanes/look';
import type { Client } from '../../client';
import { lockQueuer } from '../../postgres/lanes/queuerLock';
import { haltLane, moveLaneBatch } from '../../postgres/lanes/settle';
import type { Client as Transaction } from '../../postgres/pool';
import { inTransaction } from '../../postgres/pool';
import { wakeExpiredQueuers, wakeQueuers } from '../../postgres/lanes/queuer';
import type { LaneBatchStatus } from '../../workflows/planning/lanes/statuses';
import { isEnded, STATUSES } from '../../workflows/planning/lanes/statuses';
import { DELAY_MS } from '../../workflows/planning/lanes/tries';
import { type TaskState, taskStateName } from '../../workflows/planning/states';
import { letSessionsMoveClock } from '../helpers/clock';
import type { TestDatabase } from '../helpers/database';
import { eventually } from '../helpers/eventually';
import { Downstream, items } from './downstream';
import type { LaneStore } from './laneStore';
import { openLaneStore } from './laneStore';

/**
 * The first table of the spec, and the states of H9, against the store: real rows, the statements
 * of the product, no worker.
 */

let shop: LaneStore;
let database: TestDatabase;
let client: Client;
/** Batches of the spec by name. */
const batches: Record<string, number> = {};
beforeAll(async () => {
  shop = await openLaneStore();
  ({ database, client } = shop);
  await letSessionsMoveClock(database.pool);
  await shop.pretendWorker(['edits']);
  await client.setQueuer({ strategy: 'one-round' });
});
afterAll(() => shop.stop());

class RolledBack extends Error {}
/**
 * What the next round would be, with these changes; nothing of it stays. Names of batches, in the
 * order of the grants.
 */
const nextRound = async (change: (tx: Transaction) => Promise<unknown>): Promise<string[]> => {
  let granted: string[] = [];
  await inTransaction(database.pool, async (tx) => {
    await change(tx);
    const look = await lookAtLanes(tx, 0, (await lockQueuer(tx, 0))!, 10);
    const names = new Map(Object.entries(batches).map(([name, id]) => [id, name]));
    granted = look.plan.grants.map(({ batchId }) => names.get(batchId)!);
    throw new RolledBack();
  }).catch((error: unknown) => {
    if (!(error instanceof RolledBack)) throw error;
  });
  return granted;
};

test('an empty store gives nothing and no error [C23]', async () => {
  expect(await nextRound(() => Promise.resolve())).toEqual([]);
  const runId = randomUUID();
  const turn = { queuerId: 0, runId, runStartedAtMs: 1, turn: 1, live: [], mayClaim: true };
  const answer = await grantLanes(
    { pool: database.pool, leaseMs: 15_000, nodes: DEFAULT_NODE_SETTINGS, log: { error: fail } },
    turn,
  );
  expect(answer).toMatchObject({ deposed: false, submitters: [], again: false, next: 'idle', dueInMs: null });
});

describe('the first table of the spec, in the store', () => {
  beforeAll(async () => {
    const order = [
      ['b0', 'abcd-1234'],
      ['b1', 'abcd-1234'],
      ['b2', 'abcd-1234'],
      ['b3', 'efgh-5678'],
      ['b4', 'efgh-5678'],
      ['b5', 'abcd-1234'],
      ['b6', 'ayay-1212'],
      ['b7', 'abcd-1234'],
      ['b8', 'ayay-1212'],
      ['b9', 'ayay-1212'],
    ] as const;
    // Registered in the order in which the spec sorts them: so they are served in one round.
    const lanes = ['abcd-1234', 'ayay-1212', 'efgh-5678'];
    for (const service of lanes) batches[service] = (await client.submitBatch('edits', service, items(service))).batch;
    await database.pool.query('delete from lane_batch; update batch set state = 4, finished_at = clock()');
    for (const [name, service] of order)
      batches[name] = (await client.submitBatch('edits', service, items(service))).batch;
    await database.pool.query('update lane_state set ready = true, served = 0');
  });
  const to =
    (status: LaneBatchStatus, notBeforeMs: number | null = null) =>
    (tx: Transaction): Promise<unknown> =>
      moveLaneBatch(tx, batches['b0']!, STATUSES[status], notBeforeMs);
  const gone = (tx: Transaction): Promise<unknown> =>
    tx.query('delete from lane_batch where batch_id = $1', [batches['b0']]);
  const halted = async (tx: Transaction): Promise<void> => {
    await tx.query('update lane set on_invalid = 1');
    const moved = await moveLaneBatch(tx, batches['b0']!, STATUSES.invalid);
    await haltLane(tx, moved!.laneId, batches['b0']!, 'invalid: no');
  };
  const delayed =
    (agoMs: number) =>
    async (tx: Transaction): Promise<void> => {
      await to('delayed', DELAY_MS)(tx);
      await tx.query(`set local muster.clock = '${agoMs + 1} ms'`);
    };
  test.each([
    ['as above', gone, ['b1', 'b6', 'b3']],
    ['plus b0 Pending', to('pending'), ['b6', 'b3']],
    ['plus b0 Unknown', to('unknown'), ['b0', 'b6', 'b3']],
    ['plus b0 submitted, no status', to('submitted'), ['b6', 'b3']],
    ['plus b0 Valid', to('valid'), ['b6', 'b3']],
    ['plus b0 Committed', to('committed'), ['b1', 'b6', 'b3']],
    ['plus b0 Invalid', to('invalid'), ['b1', 'b6', 'b3']],
    ['plus b0 Invalid, in halt mode', halted, ['b6', 'b3']],
    ['plus b0 Delayed 14 s ago', delayed(14_000), ['b6', 'b3']],
    ['plus b0 Delayed 15 s ago', delayed(15_000), ['b0', 'b6', 'b3']],
  ] as const)('%s [C26]', async (_, change, expected) => {
    expect(await nextRound(change)).toEqual(expected);
  });
});

/**
 * An oracle: the product has it in SQL alone (`lane_task_state` of the open ones, the batch's own
 * state of the ended ones).
 */
const TASK_STATE_OF = {
  unsubmitted: 'batched',
  delayed: 'created',
  unknown: 'unknown',
  submitted: 'in-progress',
  pending: 'in-progress',
  valid: 'in-progress',
  parked: 'unknown',
  refused: 'in-progress',
  committed: 'succeeded',
  invalid: 'failed',
  // By an operator, who could not say that it was applied.
  skipped: 'failed',
  'failed-dependency': 'failed',
  cancelled: 'cancelled',
} as const satisfies Record<LaneBatchStatus, TaskState>;

describe('the state of a task, by the status of its batch [H9]', () => {
  const statuses = Object.keys(STATUSES) as LaneBatchStatus[];
  /** As a settlement leaves the batch row of an ended one, or of a parked one. */
  const STATE_OF = { parked: 3, committed: 4, invalid: 5, skipped: 5, 'failed-dependency': 5 } as const;
  test.each(statuses)('%s', async (status) => {
    const task = items(`h9-${status}`)[0]!;
    const { batch } = await client.submitBatch('edits', `h9-${status}`, [task]);
    if (status === 'cancelled') await client.cancelBatch(batch);
    else
      await inTransaction(database.pool, async (tx) => {
        await moveLaneBatch(tx, batch, STATUSES[status]);
        const state = (STATE_OF as Partial<Record<LaneBatchStatus, number>>)[status] ?? 1;
        await tx.query(
          `update batch set state = $2::int, attempt = 1, started_at = clock(), finished_at = case when $2::int > 3 then clock() end where id = $1`,
          [batch, state],
        );
      });
    expect((await client.getTask(task.id))!.state).toBe(TASK_STATE_OF[status]);
    const { rows } = await database.pool.query<{ state: number; n: number }>(
      `select c.state, c.n::int as n from state_count c join target t on t.id = c.target_id where t.key = $1`,
      [`h9-${status}`],
    );
    expect(rows.map(({ state, n }) => [taskStateName(state), n])).toEqual([[TASK_STATE_OF[status], 1]]);
    // Whoever waits for its end does not take an unknown outcome that is being resolved for one.
    const isOver = isEnded(status) || status === 'parked';
    const waiting = client.waitFor(task.id, { timeoutMs: 30 });
    if (isOver) expect((await waiting)[0]!.state).toBe(TASK_STATE_OF[status]);
    else await expect(waiting).rejects.toThrow(/1 task has not ended/);
    expect((await client.explain(task.id)).text.length).toBeGreaterThan(10);
  });

  test('the spec: Delayed -> created, Unknown -> unknown, Pending and Valid -> in-progress, Committed -> succeeded, Invalid -> failed', () => {
    const { delayed, unknown, pending, valid, committed, invalid } = TASK_STATE_OF;
    expect([delayed, unknown, pending, valid, committed, invalid]).toEqual([
      'created',
      'unknown',
      'in-progress',
      'in-progress',
      'succeeded',
      'failed',
    ]);
  });
});

describe('races of a grant', () => {
  const laneOf = async (service: string): Promise<{ id: number; by: number | null; why: string | null }> =>
    (
      await database.pool.query<{ id: number; by: number | null; why: string | null }>(
        'select l.id, s.halted_by as by, s.halt_reason as why from lane l join lane_state s on s.lane_id = l.id where l.service = $1',
        [service],
      )
    ).rows[0]!;
  const look = (): Promise<number[]> =>
    inTransaction(database.pool, async (tx) => {
      const { plan } = await lookAtLanes(tx, 0, (await lockQueuer(tx, 0))!, 10);
      return plan.grants.map(({ batchId }) => batchId);
    });

  test.each([
    ['halted', `halted_by = 1, halted_at = clock(), halt_reason = 'invalid: no'`],
    ['paused', `paused_at = clock()`],
  ])('a lane that is %s while a grant waits for its lock gives nothing [C19]', async (what, set) => {
    await database.pool.query('update lane_state set ready = false');
    const service = `race-${what}`;
    await client.submitBatch('edits', service, items(service));
    const { id } = await laneOf(service);
    const tx = await database.pool.connect();
    await tx.query('begin');
    await tx.query(`update lane_state set ${set} where lane_id = $1`, [id]);
    const granted = look();
    await eventually(async () => {
      const { rows } = await database.pool.query(
        `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      );
      return rows.length > 0;
    });
    await tx.query('commit');
    tx.release();
    expect(await granted).toEqual([]);
  });

  test('a second parked batch halts its lane when the first was decided, and says why', async () => {
    await database.pool.query('update lane_state set ready = false');
    const [one] = await client.submitBatches(
      'edits',
      [1, 2].map(() => ({ service: 'parked', items: items('parked') })),
    );
    const { id } = await laneOf('parked');
    await database.pool.query('update batch set state = 3, attempt = 1, started_at = clock() where id = $1', [
      one!.batch,
    ]);
    await database.pool.query('update lane_batch set status = 6 where batch_id = $1', [one!.batch]);
    const runId = randomUUID();
    const turn = { queuerId: 0, runId, runStartedAtMs: 2, turn: 1, live: [], mayClaim: true };
    await grantLanes(
      { pool: database.pool, leaseMs: 15_000, nodes: DEFAULT_NODE_SETTINGS, log: { error: fail } },
      turn,
    );
    const { by, why } = await laneOf('parked');
    expect(by).toBe(one!.batch);
    expect(why).toMatch(new RegExp(`^unknown: batch ${one!.batch} may have been applied.*lane fix`));
    expect(id).toBeGreaterThan(0);
  });
});

const fail = (...args: unknown[]): void => {
  throw new Error(`expected no error to be logged, got ${JSON.stringify(args)}`);
};

test('a queuer that waits for a lane is not woken for that lane again', async () => {
  const waiting = await openLaneStore([
    new Downstream().handler({ linger: { lingerMs: 60_000 }, service: (key) => key }),
  ]);
  try {
    await waiting.client.submit('edits', { id: 'w-1', payload: { service: 'w' } });
    const { pool } = waiting.database;
    const turn = { queuerId: 0, runId: randomUUID(), runStartedAtMs: 1, turn: 1, live: [], mayClaim: true };
    const deps = { pool, leaseMs: 15_000, nodes: DEFAULT_NODE_SETTINGS, log: { error: fail } };
    const answer = await grantLanes(deps, turn);
    expect(answer).toMatchObject({ next: 'waiting', again: false });
    expect(answer.dueInMs).toBeGreaterThan(2_000); // a shorter wait is nothing to the sweeper
    expect(await wakeExpiredQueuers(pool, 15_000)).toEqual([]);
    expect(await wakeQueuers(pool, [0], 3_000)).toEqual([]);
  } finally {
    await waiting.stop();
  }
});
