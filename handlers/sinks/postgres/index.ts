import type { Pool } from 'pg';
import { z } from 'zod';
import type { Batch, BatchTask, CallContext, SubmitAnswer } from '../../contract';
import { defineHandler } from '../../defineHandler';
import type { Trial } from '../../trials/trial';
import type { Handler } from '../../types';
import type { SinkOptions } from '../options';
import { settingsOf } from '../options';
import { readRefusal } from './refusal';
import type { SinkTable } from './statement';
import { insertStatement } from './statement';
import { postgresWire } from './wire';

export type { SinkOptions } from '../options';
export type { SinkTable } from './statement';

/** A row to insert: values by column, as JSON. */
export type PostgresRow = Record<string, unknown>;

/** Options of `postgresSink`. */
export interface PostgresSinkOptions extends SinkOptions, SinkTable {
  /** `postgres://...` of the database that is written to; not Muster's. */
  connectionString: string;
  /** Most connections per process; default 4. */
  maxConnections?: number;
}

/** Both are ours: Postgres would take more, in longer transactions. */
const ROWS_MAX = 1_000;
const JSON_BYTES_MAX = 8_000_000;
const CONNECTIONS = 4;
const CONNECT_WITHIN_MS = 10_000;

/**
 * Returns a handler that inserts rows into one table with a single statement per batch. The task's
 * id stands in a column with a unique index, so that a row is inserted once however often it is
 * sent (`on conflict do nothing`). Uses `pg`, which Muster brings.
 */
export function postgresSink(options: PostgresSinkOptions): Handler<PostgresRow> {
  const { table, idColumn, columns } = options;
  const statement = insertStatement(options);
  const database = new Database(options);
  return defineHandler<PostgresRow>({
    description: `inserts into ${table}`,
    ...settingsOf(options),
    schema: schemaOf(columns),
    target: () => table,
    bytesOf: (payload, id) => Buffer.byteLength(JSON.stringify(rowOf({ id, payload }, idColumn))) + 1,
    limits: { maxItems: ROWS_MAX, maxBytes: JSON_BYTES_MAX, overheadBytes: 2 },
    idempotency: { by: 'task' },
    submit: (batch, context) => insert(database, statement, idColumn, batch, context),
    trial: () => trialOf(options),
  });
}

function schemaOf(columns: readonly string[]): z.ZodType<PostgresRow, PostgresRow> {
  const known = new Set(columns);
  return z
    .record(z.string(), z.unknown())
    .refine(
      (row) => Object.keys(row).every((column) => known.has(column)),
      `expected only the columns ${columns.join(', ')}`,
    );
}

const trialOf = (options: PostgresSinkOptions): Trial<Handler> => ({
  at: (address) =>
    postgresSink({ ...options, connectionString: `postgres://local@${new URL(address).host}/certified` }),
  payload: (text) => ({ [options.columns[0] ?? 'text']: text }),
  wire: () => postgresWire(options.idColumn, ROWS_MAX, JSON_BYTES_MAX),
});

const rowOf = ({ id, payload }: Pick<BatchTask<PostgresRow>, 'id' | 'payload'>, idColumn: string): PostgresRow => ({
  ...payload,
  [idColumn]: id,
});

/** The connections of one sink, which are made with the first call. */
class Database {
  private pool: Promise<Pool> | undefined;

  constructor(private readonly options: Pick<PostgresSinkOptions, 'connectionString' | 'maxConnections'>) {}

  open(): Promise<Pool> {
    this.pool ??= this.create();
    return this.pool;
  }

  private async create(): Promise<Pool> {
    const { default: pg } = await import('pg');
    const pool = new pg.Pool({
      connectionString: this.options.connectionString,
      max: this.options.maxConnections ?? CONNECTIONS,
      connectionTimeoutMillis: CONNECT_WITHIN_MS,
      keepAlive: true,
      allowExitOnIdle: true,
      application_name: 'muster-sink',
    });
    // An idle connection that breaks is replaced by the pool.
    pool.on('error', () => undefined);
    return pool;
  }
}

async function insert(
  database: Database,
  statement: string,
  idColumn: string,
  { tasks }: Batch<PostgresRow>,
  { signal }: CallContext,
): Promise<SubmitAnswer> {
  const rows = JSON.stringify(tasks.map((task) => rowOf(task, idColumn)));
  try {
    await run(await database.open(), statement, rows, signal);
    return { results: tasks.map((_, index) => ({ index, status: 'ok' as const })) };
  } catch (thrown) {
    return readRefusal(thrown);
  }
}

/** Runs the statement. When the call is aborted its connection is cut: pg knows no signals. */
async function run(pool: Pool, statement: string, rows: string, signal: AbortSignal): Promise<void> {
  const client = await pool.connect();
  let broken: Error | undefined;
  const onAbort = (): void => void client.end().catch(() => undefined);
  const onError = (error: Error): void => void (broken = error);
  client.on('error', onError);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    signal.throwIfAborted();
    await client.query(statement, [rows]);
  } catch (error) {
    broken = error as Error;
    throw error;
  } finally {
    signal.removeEventListener('abort', onAbort);
    client.off('error', onError);
    client.release(broken);
  }
}
