import type { BatchView } from '../../../workflows/contracts/batch';
import type { BulkView } from '../../../workflows/contracts/bulk';
import type { CallbackPage } from '../../../workflows/contracts/callback';
import type { TargetPage } from '../../../workflows/contracts/dashboard';
import type { ExecutionView } from '../../../workflows/contracts/execution';
import type { HandlerStatus } from '../../../workflows/contracts/handler';
import type { LaneView, QueuerView } from '../../../workflows/contracts/lane';
import type { LimitsView, SharedLimitView } from '../../../workflows/contracts/limits';
import type { NodeView, PartitionView } from '../../../workflows/contracts/node';
import { describeValue } from '../../../workflows/planning/limits/describe';
import type { CallbackState } from '../../../workflows/planning/callbacks/undelivered';
import { counted, namedCounts, number } from './format';
import type { Operation } from './operations';

/** Says in words what a dry run answered: what a change would act on, as it is now. */

type Paused = { reason: string | null } | null;
const pausedText = (paused: Paused): string =>
  paused === null ? 'not paused' : `paused${paused.reason === null ? '' : ` (${paused.reason})`}`;
const some = (counts: Readonly<Record<string, number>>): string => namedCounts(Object.entries(counts));

const ofHandler = ({ counts, inFlightCalls, paused }: HandlerStatus): string[] => [
  `${counted(counts.created, 'task')} waiting`,
  `${counted(counts.unknown, 'task')} parked`,
  `${counted(inFlightCalls, 'call')} in flight`,
  pausedText(paused),
];
const ofTarget = ({ forming, inFlight, paused }: TargetPage): string[] => [
  `${counted(forming.items, 'task')}${forming.more ? ' and more' : ''} waiting`,
  `${number(inFlight)} in open batches`,
  pausedText(paused),
];
const ofTasks = ({ states }: { states: Readonly<Record<string, number>> }): string[] => [some(states)];
const ofBatch = ({ state, n, left, attempts }: BatchView): string[] => [
  state,
  counted(n - left, 'task'),
  counted(attempts, 'call'),
];
const ofLane = ({ state, depth, queued, weight, haltedBy }: LaneView): string[] => [
  haltedBy === null ? state : `${state} by batch ${haltedBy}`,
  counted(depth, 'open batch', 'open batches'),
  `${counted(queued, 'task')} without a batch`,
  `weight ${number(weight)}`,
];
const ofQueuers = (queuers: readonly QueuerView[]): string[] =>
  queuers.flatMap(({ lanes, ready, halted, taken, slots, paused, reason }) => [
    counted(lanes, 'lane'),
    `${number(ready)} ready`,
    `${number(halted)} halted`,
    `${number(taken)} of ${number(slots)} submitters taken`,
    pausedText(paused ? { reason } : null),
  ]);
const ofExecution = ({ state, items, counts }: ExecutionView): string[] => [
  state,
  `${counted(items, 'item')}: ${some(counts)}`,
];
const ofNodes = (nodes: readonly NodeView[]): string[] =>
  nodes.flatMap(({ name, id, alive, drained, partitions, inFlight }) => [
    `${name ?? id} is ${alive ? 'alive' : 'silent'}${drained ? ' and drained' : ''}`,
    counted(partitions, 'partition'),
    `${counted(inFlight, 'call')} in flight`,
  ]);
const ofPartition = ({ state, holder, holderName, pinnedTo, processing }: PartitionView): string[] => [
  holder === null ? state : `${state} by ${holderName ?? holder}`,
  pinnedTo === null ? 'not pinned' : `pinned to ${pinnedTo}`,
  `${counted(
    processing.reduce((sum, { calls }) => sum + calls, 0),
    'call',
  )} in flight`,
];
const ofCallbacks = ({ callbacks, next }: CallbackPage): string[] => {
  const of = (wanted: CallbackState): number => callbacks.filter(({ state }) => state === wanted).length;
  const counts = { 'given up': of('given-up'), 'tried again by themselves': of('retrying') };
  return [`${some(counts)}${next === null ? '' : ', and more'}`];
};
const ofBulk = ({ state, done, total }: BulkView): string[] => [state, `${number(done)} of ${number(total)} done`];
const ofLimits = ({ limits }: LimitsView | SharedLimitView): string[] =>
  limits.map(({ limit, inForce, set }) => `${limit} ${describeValue(inForce)}${set === null ? '' : ' (set)'}`);

const SAYS: Readonly<Partial<Record<Operation, (now: never) => string[]>>> = {
  ...{ flushHandler: ofHandler, pauseHandler: ofHandler, resumeHandler: ofHandler },
  ...{ flushTarget: ofTarget, pauseTarget: ofTarget, resumeTarget: ofTarget },
  ...{ redriveTasks: ofTasks, cancelTasks: ofTasks, resolveTasks: ofTasks },
  ...{ cancelBatch: ofBatch, resolveBatch: ofBatch },
  ...{ pauseLane: ofLane, resumeLane: ofLane, setLaneWeight: ofLane, skipHead: ofLane, fixHead: ofLane },
  ...{ pauseQueuers: ofQueuers, resumeQueuers: ofQueuers },
  ...{ cancelExecution: ofExecution, drainNode: ofNodes, movePartition: ofPartition },
  ...{ sendCallback: ofCallbacks, sendCallbacks: ofCallbacks, stopBulk: ofBulk },
  ...{ setLimits: ofLimits, removeLimits: ofLimits, setTargetLimits: ofLimits, removeTargetLimits: ofLimits },
  ...{ setSharedLimit: ofLimits, removeSharedLimit: ofLimits },
};

/** Returns a sentence; null: there is nothing to be said before. */
export const sayNow = (operation: Operation, now: unknown): string | null => {
  const says = SAYS[operation];
  return says === undefined || now == null ? null : `Now: ${says(now as never).join(', ')}.`;
};
