import { knownMigrations, readMigration } from './files';
import { setSearchPath } from '../searchPath';
import { parseMigrationName } from './name';

export const MIGRATIONS_TABLE = 'migration';

/**
 * One migration to be run or undone, as SQL for any tool: a separate transaction that also records
 * the migration.
 */
export interface PlannedMigration {
  name: string;
  direction: 'up' | 'down';
  /**
   * The newest migration that a program must know to run on the tables after this one; null: every
   * program can.
   */
  needs: string | null;
  sql: string;
}

/**
 * Returns the migrations that bring tables with `applied` up to date, oldest first; `applied` null:
 * there is not even a schema.
 */
export const planUp = (schema: string, applied: readonly string[] | null): PlannedMigration[] => {
  const pending = knownMigrations().filter((name) => applied?.includes(name) !== true);
  return pending.map((name, index) => {
    const setUp = applied === null && index === 0 ? SET_UP(schema) : [];
    const { up } = readMigration(name);
    const mark = `insert into "${schema}".${MIGRATIONS_TABLE} (name, run_on) values ('${name}', now());`;
    return planned(schema, name, 'up', [...setUp, `${setSearchPath(schema)};`, up.trim(), mark]);
  });
};

/**
 * Returns the migrations to undo, newest first: the newest that was applied, or, with `to`, all
 * after that one. Throws, before anything is undone, if this program cannot undo one of them.
 */
export const planDown = (schema: string, applied: readonly string[], to?: string): PlannedMigration[] => {
  const names = [...applied].sort();
  const from =
    to === undefined ? names.length - 1 : names.findIndex((name) => name === to || name.startsWith(`${to}_`)) + 1;
  if (to !== undefined && from === 0)
    throw new DownRefusedError(`expected a migration that was applied (${names.join(', ')}), got ${to}`);
  return names
    .slice(Math.max(0, from))
    .reverse()
    .map((name) => {
      if (!knownMigrations().includes(name))
        throw new DownRefusedError(`this program does not know ${name}. Use the Muster that applied it`);
      const { down } = readMigration(name);
      if (down === null)
        throw new DownRefusedError(`${name} has no "Down Migration": what it changed cannot be brought back`);
      const mark = `delete from "${schema}".${MIGRATIONS_TABLE} where name = '${name}';`;
      return planned(schema, name, 'down', [`${setSearchPath(schema)};`, down.trim(), mark]);
    });
};

/** A migration cannot be undone; nothing was. */
class DownRefusedError extends Error {
  override readonly name = 'DownRefusedError';
  readonly code = 'REFUSED';
  constructor(reason: string) {
    super(`Cannot undo: ${reason}. Nothing was undone.`);
  }
}

/** What the library that runs migrations creates before the first one. */
const SET_UP = (schema: string): string[] => [
  `create schema if not exists "${schema}";`,
  `create table "${schema}".${MIGRATIONS_TABLE} (id serial primary key, name varchar(255) not null, run_on timestamp not null);`,
];

const planned = (
  schema: string,
  name: string,
  direction: 'up' | 'down',
  statements: readonly string[],
): PlannedMigration => {
  const needs = parseMigrationName(name)?.needs ?? null;
  const lines = [`-- ${schema}: ${name}, ${direction}`, 'begin;', ...statements.map(ended), 'commit;'];
  return {
    name,
    direction,
    needs: needs === null ? null : String(needs).padStart(6, '0'),
    sql: `${lines.join('\n')}\n`,
  };
};

/**
 * Ends a statement with a semicolon. A file may end without one, or with a comment behind it: an
 * extra empty statement does no harm.
 */
const ended = (statement: string): string => (statement.endsWith(';') ? statement : `${statement}\n;`);
