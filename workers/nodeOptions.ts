import type { NativeConnection, WorkflowBundleOption } from '@temporalio/worker';
import type { Logger } from 'pino';
import type { CallbackPolicy } from '../activities/deps';
import type { ExecutionSettings } from '../activities/executions/settings';
import type { Handler } from '../handlers/types';
import type { NodeSettings } from '../activities/nodes/settings';
import type { Pool } from '../postgres/pool';
import type { ReapIntervals } from '../postgres/fanouts/reap';
import type { StuckLimits } from './sweeper/stuckRun';
import type { TemporalPlugs } from './temporal/plugs';
import type { Versioning } from './temporal/versioning';

export interface NodeOptions extends TemporalPlugs {
  pool: Pool;
  connection: NativeConnection;
  namespace: string;
  prefix: string;
  handlers: readonly Handler[];
  log: Logger;
  callbacks: CallbackPolicy;
  /**
   * Functions of executions, and what the operator says about them; default: answers no roll call.
   */
  executions?: Partial<ExecutionSettings>;
  /**
   * How partitions are spread, and this node's name and attributes; default:
   * `DEFAULT_NODE_SETTINGS`.
   */
  nodes?: Partial<NodeSettings>;
  /** Calls carry a URL under this one for what becomes of their batch (H7); none without. */
  callback?: { url: string; secret: string };
  /** Made before, or one for all workers of a test; it holds what is plugged into workflows. */
  workflowBundle?: WorkflowBundleOption;
  leaseMs?: number;
  softDeadlineMs?: number;
  /**
   * On shutdown, calls in flight may take this long; what was not started is handed back at once.
   * Default 20 s.
   */
  shutdownGraceMs?: number;
  maxCachedWorkflows?: number;
  /**
   * Leaders stay on the version they began with (DESIGN section 4); the queues of handlers are not
   * versioned. Default: no versioning.
   */
  versioning?: Versioning;
  /** Between two rounds of the sweeper; 0: this process does not sweep. Default 2 s. */
  sweepEveryMs?: number;
  /**
   * When fan-outs are given up and deleted; default: 7 days open, 30 days sealed without activity,
   * 7 days after their end.
   */
  fanouts?: ReapIntervals | undefined;
  /** When a run that does not get on is begun anew. Default: `STUCK_LIMITS`. */
  stuck?: Partial<StuckLimits> | undefined;
}

/**
 * Past its wake time a leader may be silent this long before the sweeper wakes it again: above a
 * workflow task's timeout and a lost worker's.
 */
export const DEFAULT_LEASE_MS = 15_000;
/**
 * Long enough for hundreds of batches, short against a person's patience when something must move.
 */
export const DEFAULT_SOFT_DEADLINE_MS = 10_000;
