import type * as product from '../../workflows';
import {
  balancerWorkflowId,
  executionWorkflowId,
  leaderWorkflowId,
  monitorWorkflowId,
  notifierWorkflowId,
  queuerWorkflowId,
} from '../../workflows/naming';
import type { Requests } from '../../workflows/temporal/requests';
import * as wakes from '../../workflows/wake';

/** The types of workflows, each with what the tests of all of them must know. */

/**
 * A type of workflow as the tests of all types see it: who it is, how the sweeper wakes it, and the
 * activity that a turn of it begins with.
 */
interface Kind {
  id: (prefix: string) => string;
  wake: (requests: Requests, prefix: string) => Promise<Error | null>;
  activity: string;
  /** Answered by it: nothing to do for an hour. */
  rest: object;
  /** What a turn answers besides that wants another at once; null: it has no limit of turns. */
  more: object | null;
  takesTurns: boolean;
}

export const HOUR_MS = 3_600_000;
const EXECUTION = '11111111-2222-4333-8444-555555555555';
const waits = { deposed: false, epoch: 1, again: false, next: 'waiting', dueInMs: HOUR_MS, heldBy: null };
const leader = { leaderId: 7, handler: 'orders', name: '0', dueInMs: 0 };
const turns = { takesTurns: true, more: { again: true } };
/**
 * Types that end with what they were started for, so that nobody wakes them: each has a file of
 * tests of its own here.
 */
export const ONE_SHOT = ['completion'] as const satisfies readonly (keyof typeof product)[];
/** By type: another workflow does not compile without its line here. */
export const KINDS: Record<Exclude<keyof typeof product, (typeof ONE_SHOT)[number]>, Kind> = {
  leader: {
    ...turns,
    id: (prefix) => leaderWorkflowId(prefix, 'orders', '0', 7),
    wake: (requests, prefix) => wakes.wakeLeaderWorkflows(requests, prefix, [leader]),
    activity: 'claimBatches',
    rest: { ...waits, dispatch: null, lastReason: null },
  },
  queuer: {
    ...turns,
    id: (prefix) => queuerWorkflowId(prefix, 0),
    wake: (requests, prefix) => wakes.wakeQueuerWorkflows(requests, prefix, [{ queuerId: 0 }]),
    activity: 'grantLanes',
    rest: { ...waits, submitters: [] },
  },
  balancer: {
    ...turns,
    more: { dueInMs: 0 },
    id: balancerWorkflowId,
    wake: wakes.wakeBalancer,
    activity: 'balancePartitions',
    rest: { epoch: 1, partitions: 0, nodes: 0, held: 0, waiting: 1, moved: 0, last: [], dueInMs: HOUR_MS },
  },
  execution: {
    takesTurns: true,
    more: null,
    id: (prefix) => executionWorkflowId(prefix, EXECUTION),
    wake: (requests, prefix) => wakes.wakeExecutions(requests, prefix, [EXECUTION]),
    activity: 'rollCall',
    rest: {
      next: 'no-nodes',
      chunks: [],
      planned: false,
      counts: { created: 1, inProgress: 0, done: 0, failed: 0, permanentlyFailed: 0 },
      round: 0,
      note: null,
      dueInMs: null,
      settings: { rollCallMs: HOUR_MS, requeueMs: HOUR_MS, retryBaseMs: HOUR_MS, leaseMs: HOUR_MS },
    },
  },
  monitor: {
    takesTurns: false,
    more: null,
    id: (prefix) => monitorWorkflowId(prefix, 'orders'),
    wake: (requests, prefix) => wakes.wakeMonitor(requests, prefix, 'orders'),
    activity: 'pollAccepted',
    rest: { asked: 0, settled: 0, dueInMs: HOUR_MS },
  },
  notifier: {
    takesTurns: false,
    more: null,
    id: notifierWorkflowId,
    wake: wakes.wakeNotifier,
    activity: 'deliverNotifications',
    rest: { delivered: 0, givenUp: 0, putOff: 0, dueInMs: HOUR_MS },
  },
};
export type Type = keyof typeof KINDS;
export const TYPES = Object.keys(KINDS) as Type[];
