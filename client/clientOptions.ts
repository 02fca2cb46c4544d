import type { Handler } from '../handlers/types';
import type { Pool } from '../postgres/pool';
import type { TemporalOptions } from './connectTemporal';

/** How a client reaches Postgres and Temporal; nothing is read from the environment. */
export interface ClientOptions {
  /** `postgres://user:password@host:port/database`; with `?pgbouncer=true` behind a pooler. */
  databaseUrl: string;
  /** Schema of Muster's tables; default `muster`. */
  schema?: string;
  /** The handlers of the config file: they check payloads and compute targets. */
  handlers?: readonly Handler[];
  /** How to wake workers. Where it cannot be reached, the sweeper does it within 5 s. */
  temporal?: TemporalOptions;
  /** Prefix of workflow ids and task queues; the workers' must be the same. Default `muster`. */
  prefix?: string;
  /** Most database connections; default 10. */
  maxConnections?: number;
  /** Called with rings that failed (the sweeper repeats them); default: ignored. */
  onRingFailure?: (error: Error) => void;
  /** The caller's own pool, in place of `databaseUrl`; it is not closed. */
  pool?: Pool;
}
