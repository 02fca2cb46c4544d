import type { Client } from '@temporalio/client';
import type { Logger } from 'pino';
import type { CarriedBatch } from '../postgres/calls/batch';
import type { Pool } from '../postgres/pool';
import type { ExecutionMeters } from './executions/meters';
import type { ExecutionSettings } from './executions/settings';
import type { Handler } from '../handlers/types';
import type { WorkflowTask } from '../workflows/definitions';
import type { Heartbeat } from './nodes/heartbeat';
import type { NodeSettings } from './nodes/settings';
import type { Partitions } from './nodes/partitions';
import type { Shared } from './shared';

/**
 * What activities close over (style.md 12): tests pass the same with their own pool and handlers.
 */
export interface ActivityDeps extends Shared {
  pool: Pool;
  temporal: Client;
  handlers: ReadonlyMap<string, Handler>;
  /** Id of this worker process: written beside every mark. */
  node: string;
  /** Of the store: no other has it. */
  installation: string;
  prefix: string;
  /** How long a leader may be silent past its wake time before the sweeper wakes it. */
  leaseMs: number;
  /** A submission takes no new batch after this and hands the rest back (A18). */
  softDeadlineMs: number;
  callbacks: CallbackPolicy;
  executions: ExecutionSettings;
  /** Keeps the chunks that this process holds, from a thread of its own. */
  heartbeat: Heartbeat;
  nodes: NodeSettings;
  /** Those that this process holds. */
  partitions: Partitions;
  meters: ExecutionMeters;
  acceptTasks: AcceptTasks;
  /**
   * Where the downstream may tell what became of a batch (H7). A secret: whoever has it may
   * complete the batch. Undefined: nowhere.
   */
  callbackUrl?: (batch: Pick<CarriedBatch, 'id' | 'createdUs'>) => string;
  /**
   * Aborted when this process begins to shut down: submissions hand back what they have not
   * started.
   */
  draining: AbortSignal;
  log: Logger;
}

/**
 * Checks and stores tasks of one handler in one transaction and rings for them, as a client's
 * submit does; their ends are told to a workflow. Answers how many were there already, or what is
 * wrong with them: repeating that does not help.
 */
export type AcceptTasks = (
  handler: Handler,
  tasks: readonly WorkflowTask[],
  callback: { workflowId: string },
) => Promise<{ repeated: number } | { problem: string }>;

export interface CallbackPolicy {
  /**
   * Hosts that webhooks may go to; empty: none. A private address only if it is named here itself.
   */
  allow: readonly string[];
  /** Standard Webhooks secret (`whsec_...`); without one no webhook is accepted. */
  secret: string | null;
}
