import { servedHandlers } from '../../postgres/nodes/node';
import { countPartitions } from '../../postgres/nodes/partitionView';
import { countUpTo } from '../../postgres/operations/sample';
import { inSnapshot } from '../../postgres/snapshot';
import * as facts from '../../postgres/operations/status';
import { COUNTED, countTasks } from '../../postgres/operations/statusCounts';
import { readTargets } from '../../postgres/operations/targetView';
import { PAGE_MAX } from '../../workflows/planning/pages';
import type { TaskState } from '../../workflows/planning/states';
import { flushReasonName, leaderStateName, TASK_STATES, taskStateName } from '../../workflows/planning/states';
import { checkName, checkWhole } from '../arguments';
import type { ClientContext } from '../context';
import { setLimitsOf } from '../limits/view';
import { NODE_LIVE_MS } from '../context';
import { InvalidArgumentError } from '../errors';
import { findScope } from './scope';
import { readStalled } from './stalled';
import type { HandlerStatus, TargetStatus } from '../views';

/**
 * Takes about the same time at any size of the store, unless `exact` is true. Compares the number
 * of accepted tasks with the sum of the states, if all were counted and `exact` is not false.
 */
export const status = async (
  client: ClientContext,
  handler?: string,
  options: { exact?: boolean } = {},
): Promise<HandlerStatus[]> => {
  const { exact } = options;
  if (exact !== undefined && typeof exact !== 'boolean')
    throw new InvalidArgumentError('exact', 'true or false', exact);
  const id = handler === undefined ? null : (await findScope(client, handler)).handlerId;
  await client.ready();
  return inSnapshot(client.pool, async (db) => {
    const handlers = await facts.readHandlers(db, id);
    const counted = await countTasks(db, id, exact === true ? Infinity : COUNTED);
    const compared = exact ?? (!counted.estimated && (await countUpTo(db, 'task', COUNTED)) <= COUNTED);
    const accepted = compared ? await facts.countAccepted(db, id) : null;
    const leaders = await facts.readLeaders(db, id);
    const stalled = await readStalled(db, client.prefix);
    const lanes = new Set(await facts.handlersWithLanes(db));
    const partitions = await countPartitions(db, id);
    const served = new Set(await servedHandlers(db, NODE_LIVE_MS));
    return handlers.map((one): HandlerStatus => {
      const mine = <T extends { handlerId: number }>(rows: readonly T[]): T[] =>
        rows.filter((row) => row.handlerId === one.id);
      const counts = countsOf(mine(counted.states));
      const sum = Object.values(counts).reduce((total, n) => total + n, 0);
      const stored = accepted === null ? sum : (mine(accepted)[0]?.n ?? 0);
      return {
        handler: one.name,
        paused: one.pausedAt === null ? null : { since: one.pausedAt.toISOString(), reason: one.pauseReason },
        pausedTargets: one.pausedTargets,
        holdUntil: one.holdUntil?.toISOString() ?? null,
        counts,
        accepted: stored,
        estimated: counted.estimated,
        identityHolds: accepted === null ? null : stored === sum,
        held: mine(counted.held)[0]?.n ?? 0,
        oldestQueuedMs: mine(counted.oldest)[0]?.ageMs ?? null,
        inFlightCalls: one.inFlightCalls,
        limitsSet: setLimitsOf(one.limitsSet),
        sharesLimit: one.sharesLimit,
        leaders: mine(leaders).map(({ name, state, epoch, wakeInMs, expiresInMs, unansweredMs }) => ({
          name,
          state: leaderStateName(state),
          epoch,
          wakeInMs: roundMs(wakeInMs),
          expiresInMs: roundMs(expiresInMs),
          unansweredMs: roundMs(unansweredMs),
        })),
        flushReasons: Object.fromEntries(mine(counted.reasons).map(({ reason, n }) => [flushReasonName(reason), n])),
        served: served.has(one.name),
        stalled: stalled.of({ name: one.name, hasLanes: lanes.has(one.id) }),
        partitions: partitions.get(one.id) ?? null,
      };
    });
  });
};

const countsOf = (rows: readonly { state: number; n: number }[]): Record<TaskState, number> => {
  const counts = Object.fromEntries(Object.keys(TASK_STATES).map((name) => [name, 0])) as Record<TaskState, number>;
  for (const { state, n } of rows) counts[taskStateName(state)] += n;
  return counts;
};

const roundMs = (ms: number | null): number | null => (ms === null ? null : Math.round(ms));

/** Which page of targets to list, ordered by key. */
export interface TargetsOptions {
  /** Most targets: 1 to 1,000; default 50. */
  limit?: number;
  /**
   * The key after which the page starts, which is the last key of the page before; default: the
   * page is the first.
   */
  after?: string;
  /** Only targets at which the leader should look now; default: all targets. */
  dueOnly?: boolean;
}

export const targets = async (
  client: ClientContext,
  handler: string,
  options: TargetsOptions = {},
): Promise<TargetStatus[]> => {
  const limit = checkWhole('limit', options.limit ?? 50, 1, PAGE_MAX);
  const after = options.after === undefined ? null : checkName('after', options.after);
  const { handlerId } = await findScope(client, handler);
  const rows = await readTargets(client.pool, handlerId, { after, limit, dueOnly: options.dueOnly === true });
  return rows.map(({ pausedAt, pauseReason, ...row }) => ({
    ...row,
    limitsSet: setLimitsOf(row.limitsSet),
    paused: pausedAt === null ? null : { since: pausedAt.toISOString(), reason: pauseReason },
    holdInMs: roundMs(row.holdInMs),
    dueInMs: roundMs(row.dueInMs),
    lastFlushReason: row.lastFlushReason === null ? null : flushReasonName(row.lastFlushReason),
  }));
};
