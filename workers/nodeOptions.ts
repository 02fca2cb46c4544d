import type { NativeConnection, WorkflowBundleOption } from '@temporalio/worker';
import type { Logger } from 'pino';
import type { CallbackPolicy } from '../activities/deps';
import type { ExecutionSettings } from '../activities/executions/settings';
import type { SealerOptions } from '../handlers/codec/sealer';
import type { Handler } from '../handlers/types';
import type { Hooks } from '../handlers/hooks/types';
import type { NodeSettings } from '../activities/nodes/settings';
import type { Pool } from '../postgres/pool';
import type { ReapIntervals } from '../postgres/fanouts/reap';
import type { StuckLimits } from './sweeper/stuckRun';
import type { TemporalPlugs } from './temporal/plugs';
import type { Versioning } from './temporal/versioning';

export interface NodeOptions extends TemporalPlugs, SealerOptions {
  pool: Pool;
  connection: NativeConnection;
  namespace: string;
  prefix: string;
  handlers: readonly Handler[];
  log: Logger;
  callbacks: CallbackPolicy;
  /** Called as tasks move through this worker. */
  hooks?: Hooks | undefined;
  /**
   * Functions of executions, and the operator's settings of them; default: answers no roll call.
   */
  executions?: Partial<ExecutionSettings>;
  /**
   * How partitions are spread, and this node's name and attributes; default:
   * `DEFAULT_NODE_SETTINGS`.
   */
  nodes?: Partial<NodeSettings>;
  /** Calls carry a URL under this one, for completions of their batch; left out: none. */
  callback?: { url: string; secrets: readonly string[]; urlMs: number };
  /** Made before, or one for all workers of a test; it contains what is plugged into workflows. */
  workflowBundle?: WorkflowBundleOption;
  leaseMs?: number;
  softDeadlineMs?: number;
  /**
   * How long calls in flight may take on shutdown; batches not started are handed back at once.
   * Default 20 s.
   */
  shutdownGraceMs?: number;
  /** Most workflow runs kept in memory. Default 500. */
  maxCachedWorkflows?: number | undefined;
  /**
   * Leaders stay on the version they began with, so that two versions can run side by side; the
   * queues of handlers are not versioned. Default: no versioning.
   */
  versioning?: Versioning;
  /** Ms between two rounds of the sweeper; 0: this process does not sweep. Default 2 s. */
  sweepEveryMs?: number;
  /**
   * When fan-outs expire and are deleted; default: 7 days open, 30 days sealed without activity, 7
   * days after their end.
   */
  fanouts?: ReapIntervals | undefined;
  /** How long outcomes per minute are kept (ms). Default 7 days. */
  keepOutcomesMs?: number | undefined;
  /** When a run that makes no progress is restarted. Default: `STUCK_LIMITS`. */
  stuck?: Partial<StuckLimits> | undefined;
}

/**
 * How long a leader may miss its wake time before the sweeper wakes it; longer than a workflow task
 * timeout.
 */
export const DEFAULT_LEASE_MS = 15_000;
/** Long enough for hundreds of batches, short enough for a waiting operator. */
export const DEFAULT_SOFT_DEADLINE_MS = 10_000;
