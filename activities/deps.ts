import type { Client } from '@temporalio/client';
import type { Logger } from 'pino';
import type { CarriedBatch } from '../postgres/calls/batch';
import type { Pool } from '../postgres/pool';
import type { ExecutionMeters } from './executions/meters';
import type { ExecutionSettings } from './executions/settings';
import type { Sealer } from '../handlers/codec/sealer';
import type { Handler } from '../handlers/types';
import type { WorkflowTask } from '../workflows/definitions';
import type { HandlerCounts } from '../workflows/temporal/handlerCounts';
import type { Requests } from '../workflows/temporal/requests';
import type { WorkflowPolicy } from '../workflows/planning/callbacks/workflows';
import type { WorkerHooks } from './hooks/workerHooks';
import type { Outcomes } from './outcomes/outcomes';
import type { Heartbeat } from './nodes/heartbeat';
import type { NodeSettings } from './nodes/settings';
import type { Partitions } from './nodes/partitions';
import type { Shared } from './shared';

/**
 * The dependencies of all activities. They are passed in, so that tests pass the same with their
 * own pool and handlers.
 */
export interface ActivityDeps extends Shared {
  pool: Pool;
  temporal: Client;
  /** Sends what starts, signals or ends workflows. */
  requests: Requests;
  /** Counts the activities that ran here. */
  runs: HandlerCounts;
  handlers: ReadonlyMap<string, Handler>;
  /** What encodes the values of callers; null: nothing does. */
  sealer: Sealer | null;
  /**
   * The same for what goes to workflows; null: it goes as it is stored, since a data converter
   * without a codec would leave it plain in histories.
   */
  workflowSealer: Sealer | null;
  /** Id of this worker process: written with every mark. */
  node: string;
  /** Name of the store's installation: no other store has it. */
  installation: string;
  prefix: string;
  /** How long a leader may be silent past its wake time before the sweeper wakes it. */
  leaseMs: number;
  /**
   * Time after which a dispatch starts no further batch and hands back the rest, so that one slow
   * target never delays the others.
   */
  softDeadlineMs: number;
  callbacks: CallbackPolicy;
  executions: ExecutionSettings;
  /** Keeps the chunks that this process holds, from a separate thread. */
  heartbeat: Heartbeat;
  nodes: NodeSettings;
  /** The partitions that this process holds. */
  partitions: Partitions;
  meters: ExecutionMeters;
  hooks?: WorkerHooks | undefined;
  outcomes?: Outcomes;
  acceptTasks: AcceptTasks;
  /**
   * URL at which the downstream may report the outcome of a batch. A secret: anyone who has it may
   * complete the batch. `openMs`: it is valid for at least so long. Undefined: there is none.
   */
  callbackUrl?: (batch: Pick<CarriedBatch, 'id' | 'createdUs'>, openMs: number) => string;
  /**
   * Aborted when this process begins to shut down: dispatches hand back what they have not started.
   */
  draining: AbortSignal;
  log: Logger;
}

/**
 * Checks and stores tasks of one handler in one transaction and rings for them, as a client's
 * submit does; their ends are reported to a workflow. Returns how many existed already, or what is
 * wrong with them: repeating a refused call does not help.
 */
export type AcceptTasks = (
  handler: Handler,
  tasks: readonly WorkflowTask[],
  callback: { workflowId: string },
) => Promise<{ repeated: number } | { problem: string }>;

export interface CallbackPolicy {
  /** Hosts that webhooks may go to; empty: none. A private address only if the list names it. */
  allow: readonly string[];
  /**
   * Standard Webhooks secrets (`whsec_...`) for all hosts but `receivers`; without one they get
   * nothing. Several: each signs, so that a receiver may know any of them.
   */
  secret: string | readonly string[] | null;
  /** Receivers with separate secrets; each is allowed by being named here. */
  receivers?: readonly Receiver[];
  /** Workflows that callbacks may signal; default: `DEFAULT_WORKFLOWS`. */
  workflows?: WorkflowPolicy;
}

/** A receiver of webhooks, by its host, with the secrets that sign what it gets. */
export interface Receiver {
  allow: string;
  secret: string | readonly string[];
}
