import type pg from 'pg';
import type { Queryable } from '../../postgres/pool';
import { InvalidArgumentError } from '../errors';
import { databaseErrorOf } from './databaseError';
import type { PortableStatement } from './portable';
import { portable, withQuestionMarks } from './portable';

/** A transaction of Drizzle on Postgres, whatever its driver. */
export interface DrizzleTransaction {
  /** Sends a statement in the transaction. */
  execute(query: never): PromiseLike<unknown>;
}

/** Lets a submit join a transaction of Drizzle: `db.transaction(async (tx) => ...)`. */
export const fromDrizzle = (tx: DrizzleTransaction): Queryable =>
  adapted(async ({ text, values }) => {
    // All that `execute` asks of the SQL object of Drizzle, which is not ours to import.
    const query = { getSQL: () => query, toQuery: () => ({ sql: text, params: values }) };
    return rowsOf(await tx.execute(query as never));
  });

/** A transaction of Kysely. */
export interface KyselyTransaction {
  /** Returns the same transaction, whose rows stay as Postgres names them. */
  withoutPlugins(): KyselyExecutor;
}
/** What sends the statements of a transaction of Kysely. */
export interface KyselyExecutor {
  /** Sends a compiled statement. */
  executeQuery(query: never): Promise<{ rows: unknown[] }>;
}

/** Lets a submit join a transaction of Kysely: `db.transaction().execute(async (tx) => ...)`. */
export const fromKysely = (tx: KyselyTransaction): Queryable =>
  adapted(async ({ text, values }) => {
    const query = { kind: 'RawNode', sqlFragments: [text], parameters: [] };
    const compiled = { sql: text, parameters: values, query, queryId: { queryId: 'muster' } };
    return (await tx.withoutPlugins().executeQuery(compiled as never)).rows;
  });

/** The client of an interactive transaction of Prisma. */
export interface PrismaTransaction {
  /** Sends a statement in the transaction. */
  $queryRawUnsafe(text: string, ...values: never[]): PromiseLike<unknown>;
}

/** Lets a submit join a transaction of Prisma: `prisma.$transaction(async (tx) => ...)`. */
export const fromPrisma = (tx: PrismaTransaction): Queryable =>
  adapted(async ({ text, values }) => rowsOf(await tx.$queryRawUnsafe(text, ...(values as never[]))));

/** A transaction of Knex. */
export interface KnexTransaction {
  /** Sends a statement in the transaction. */
  raw(text: string, values: never): PromiseLike<unknown>;
}

/** Lets a submit join a transaction of Knex: `knex.transaction(async (trx) => ...)`. */
export const fromKnex = (trx: KnexTransaction): Queryable =>
  adapted(async (statement) => {
    const { text, values } = withQuestionMarks(statement);
    return rowsOf(await trx.raw(text, values as never));
  });

/** A query runner of TypeORM. */
export interface TypeOrmRunner {
  /** Begins the transaction that a submit joins. */
  startTransaction(): Promise<void>;
  /** Sends a statement in the transaction. */
  query(text: string, values: unknown[], structured: true): Promise<{ records: unknown[] }>;
}
/** The entity manager of a transaction of TypeORM. */
export interface TypeOrmManager {
  /** What the transaction runs on; undefined: the manager is in none. */
  readonly queryRunner?: TypeOrmRunner | undefined;
}
/** What has a transaction of TypeORM. */
export type TypeOrmTransaction = TypeOrmManager | TypeOrmRunner;

/**
 * Lets a submit join a transaction of TypeORM: `dataSource.transaction(async (manager) => ...)`, or
 * that of a query runner.
 */
export const fromTypeOrm = (tx: TypeOrmTransaction): Queryable =>
  adapted(async ({ text, values }) => {
    const runner = 'startTransaction' in tx ? tx : tx.queryRunner;
    if (runner === undefined)
      throw new InvalidArgumentError('tx', 'a transaction that has begun', 'an entity manager outside of one');
    return (await runner.query(text, values, true)).records;
  });

/** A transaction of the package `postgres`. */
export interface PostgresJsTransaction {
  /** Sends a statement in the transaction. */
  unsafe(text: string, values: never): PromiseLike<unknown>;
}

/** Lets a submit join a transaction of Postgres.js: `sql.begin(async (sql) => ...)`. */
export const fromPostgresJs = (sql: PostgresJsTransaction): Queryable =>
  adapted(async ({ text, values }) => rowsOf(await sql.unsafe(text, values as never)));

const adapted = (run: (statement: PortableStatement) => Promise<unknown[]>): Queryable => ({
  query: async <R extends pg.QueryResultRow>(config: pg.QueryConfig) => {
    try {
      const rows = await run(portable(config));
      return { rows: [...rows] as R[], rowCount: rows.length, command: '', oid: 0, fields: [] };
    } catch (error) {
      throw databaseErrorOf(error);
    }
  },
});

/** Returns the rows of what a library answers: a list of them, or an object that has them. */
const rowsOf = (answer: unknown): unknown[] =>
  Array.isArray(answer) ? (answer as unknown[]) : ((answer as { rows?: unknown[] } | null)?.rows ?? []);
