import * as actions from '../../workers/dashboard/model/actions';
import type { Action, Given } from '../../workers/dashboard/model/actions';
import { actionsOnAll, stopBulk } from '../../workers/dashboard/model/bulkActions';
import {
  limitActions,
  removeLimit,
  removeSharedValue,
  sharedLimitActions,
} from '../../workers/dashboard/model/limitActions';
import * as more from '../../workers/dashboard/model/moreActions';
import type { Operation } from '../../workers/dashboard/model/operations';
import type { BulkView } from '../../workflows/contracts/bulk';

/** An action of each kind, what is given to it, and the body that goes out. */
export type Sample = readonly [action: Action, given: Given, body: object];

const HANDLER = 'orders/eu';
const TARGET = 'a b:c';
const bulk = { id: '0190a1b2-0000-7000-8000-000000000001', handler: HANDLER, where: { state: 'dead' } } as BulkView;
const stopped = { ...bulk, action: { do: 'cancel' }, total: 3, done: 1, skipped: 0, failed: 0 } as BulkView;
const rate = { limit: 'items', value: '600', seconds: '60', forMs: '3600000' };

export const SAMPLES: readonly Sample[] = [
  [actions.flush(HANDLER, null, 7), {}, {}],
  [actions.flush(HANDLER, TARGET, 7), {}, {}],
  [actions.pause(HANDLER, null), { reason: 'moving' }, { reason: 'moving' }],
  [actions.pause(HANDLER, TARGET), { reason: '' }, {}],
  [actions.resume(HANDLER, null), {}, {}],
  [actions.resume(HANDLER, TARGET), {}, {}],
  [actions.redrive(HANDLER, 'dead', ['a']), {}, { only: 'dead', ids: ['a'] }],
  [actions.cancelTasks(['a', 'b']), {}, { ids: ['a', 'b'] }],
  [actions.resolveTasks(['a'], 'created'), {}, { ids: ['a'], as: 'created' }],
  [actions.resolveBatch(7, 3, 'failed'), {}, { as: 'failed' }],
  [actions.cancelBatch(7, 3), {}, {}],
  [more.pauseLane('po/17'), { reason: 'audit' }, { reason: 'audit' }],
  [more.resumeLane('po/17'), {}, {}],
  [more.weighLane('po/17', 1), { weight: '5' }, { weight: 5 }],
  [more.skipHead('po/17', 4), {}, { batch: 4 }],
  [more.fixHead('po/17', 4, 'applied'), {}, { as: 'applied', batch: 4 }],
  [more.fixHead('po/17', 4, 'again'), {}, { as: 'again', batch: 4 }],
  [more.pauseLanes(3), { reason: 'audit' }, { reason: 'audit' }],
  [more.resumeLanes(3), {}, {}],
  [more.cancelExecution('0190a1b2-0000-7000-8000-000000000002', 3), {}, {}],
  [more.drainNode('node 1', 4, false), {}, { undo: false }],
  [more.drainNode('node 1', 4, true), {}, { undo: true }],
  [more.movePartition(HANDLER, 3, [['n-1', 'blue (n-1)']], null), { node: 'n-1' }, { node: 'n-1' }],
  [more.movePartition(HANDLER, 3, [], 'n-1'), { node: '' }, { node: null }],
  [more.sendCallback(9), {}, {}],
  [more.sendCallbacks(), {}, {}],
  [more.sendCallbacks(HANDLER), {}, { handler: HANDLER }],
  ...actionsOnAll(HANDLER, { state: 'dead' }).map((one) => [one, {}, one.body] as const),
  [stopBulk(stopped), {}, {}],
  [
    limitActions(HANDLER, null, true)[0]!,
    rate,
    {
      rate: { limit: 600, perMs: 60_000, unit: 'items' },
      forMs: 3_600_000,
    },
  ],
  [
    limitActions(HANDLER, null, true)[0]!,
    { limit: 'concurrency.perHandler', value: '4', seconds: '1', forMs: '' },
    { concurrency: { perHandler: 4 } },
  ],
  [removeLimit(HANDLER, null, 'maxWeightInFlight.perHandler'), {}, { maxWeightInFlight: { perHandler: null } }],
  [limitActions(HANDLER, null, true)[1]!, {}, {}],
  [
    limitActions(HANDLER, TARGET, true)[0]!,
    { limit: 'concurrency.perTarget', value: '2', seconds: '1', forMs: '' },
    { concurrency: { perTarget: 2 } },
  ],
  [removeLimit(HANDLER, TARGET, 'rate'), {}, { rate: null }],
  [limitActions(HANDLER, TARGET, true)[1]!, {}, {}],
  [
    sharedLimitActions('openai-key', true)[0]!,
    { limit: 'concurrency', value: '8', seconds: '1', forMs: '600000' },
    { concurrency: 8, forMs: 600_000 },
  ],
  [removeSharedValue('openai-key', 'concurrency'), {}, { concurrency: null }],
  [sharedLimitActions('openai-key', true)[1]!, {}, {}],
];

/** All operations: the compiler names one that is missing. */
const EACH: Readonly<Record<Operation, 0>> = {
  ...{ flushHandler: 0, pauseHandler: 0, resumeHandler: 0, flushTarget: 0, pauseTarget: 0 },
  ...{ resumeTarget: 0, redriveTasks: 0, cancelTasks: 0, resolveTasks: 0, cancelBatch: 0 },
  ...{ resolveBatch: 0, pauseLane: 0, resumeLane: 0, setLaneWeight: 0, skipHead: 0 },
  ...{ fixHead: 0, pauseQueuers: 0, resumeQueuers: 0, cancelExecution: 0, drainNode: 0 },
  ...{ movePartition: 0, sendCallback: 0, sendCallbacks: 0, startBulk: 0, dryRunBulk: 0 },
  ...{ stopBulk: 0, setLimits: 0, removeLimits: 0, setTargetLimits: 0, removeTargetLimits: 0 },
  ...{ setSharedLimit: 0, removeSharedLimit: 0 },
};
export const ALL_OPERATIONS = Object.keys(EACH) as Operation[];
