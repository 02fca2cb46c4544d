import type { Handler } from '../handlers/types';
import type { Pool } from '../postgres/pool';
import type { TemporalOptions } from './connectTemporal';

export interface ClientOptions {
  databaseUrl: string;
  /** Schema of Muster's tables; default `muster`. */
  schema?: string;
  /** The handlers of the config file: they check payloads and compute targets. */
  handlers?: readonly Handler[];
  temporal?: TemporalOptions;
  /** Prefix of workflow ids and task queues; the workers' must be the same. Default `muster`. */
  prefix?: string;
  /** Most database connections; default 10. */
  maxConnections?: number;
  /** Called with rings that failed (the sweeper repeats them); default: ignored. */
  onRingFailure?: (error: Error) => void;
  pool?: Pool;
}
