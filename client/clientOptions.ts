import type { OutcomesTold } from '../activities/outcomes/told';
import type { ObjectStoreOptions, PayloadCodec } from '../handlers/codec/types';
import type { Hooks } from '../handlers/hooks/types';
import type { Contract } from '../handlers/types';
import type { Pool } from '../postgres/pool';
import type { TemporalOptions } from './connectTemporal';

/**
 * Options of a client: how it reaches Postgres and Temporal, and its handlers. Nothing is read from
 * the environment.
 */
export interface ClientOptions {
  /** `postgres://user:password@host:port/database`, with `?pgbouncer=true` behind a pooler. */
  databaseUrl: string;
  /** Schema of Muster's tables; default `muster`. */
  schema?: string;
  /**
   * The contracts, or handlers, that check payloads and compute targets. A handler brings the code
   * of its calls along, a contract does not. Default: none.
   */
  handlers?: readonly Contract[];
  /**
   * The Temporal server, which is needed to wake workflows. If it cannot be reached, the sweeper
   * wakes them within 5 s.
   */
  temporal?: TemporalOptions;
  /** Prefix of workflow ids and task queues, the same as that of the workers. Default `muster`. */
  prefix?: string;
  /** Most database connections, 1 to 1,000; default 10. */
  maxConnections?: number;
  /**
   * Called with the error of a failed ring, which the sweeper repeats. Default: errors are ignored.
   */
  onRingFailure?: (error: Error) => void;
  /** `taskAccepted` is called before tasks are written; the others are those of the worker. */
  hooks?: Hooks;
  /** Who makes changes, as the audit shows it, 1 to 300 characters. Default: user and machine. */
  actor?: string;
  /**
   * What is used to make them.
   *
   * @internal
   */
  door?: 'client' | 'cli';
  /**
   * Is told of ends that completions and dependencies bring.
   *
   * @internal
   */
  told?: OutcomesTold;
  /**
   * Encodes payloads, results and error texts in Postgres, such as by encryption. Workers, API and
   * all clients need the same. Default: they are stored as they are.
   */
  payloadCodec?: PayloadCodec;
  /** Keeps large payloads and results, as workers, API and all clients must. Default: none does. */
  objectStore?: ObjectStoreOptions;
  /**
   * The caller's own pool of `pg`, in place of `databaseUrl`. Nothing is set in its sessions but
   * within Muster's transactions. The client does not close it.
   */
  pool?: Pool;
}
