import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

export const MIGRATIONS_DIR = path.join(__dirname, '..', 'migrations');

/** Returns the names of the migrations that this program knows, oldest first. */
export const knownMigrations = (): string[] =>
  readdirSync(MIGRATIONS_DIR)
    .filter((file) => file.endsWith('.sql'))
    .map((file) => path.basename(file, '.sql'))
    .sort();

export interface MigrationSource {
  up: string;
  /** The SQL that undoes it; null: it cannot be undone. */
  down: string | null;
}

/**
 * Returns the two halves of a migration's file, split at the same line as the library that runs
 * migrations splits it. Throws where the library would run both halves: it takes the whole file as
 * what to do if no line begins that half.
 */
export const readMigration = (name: string): MigrationSource => {
  const text = readFileSync(path.join(MIGRATIONS_DIR, `${name}.sql`), 'utf8');
  const at = text.search(/^\s*--[\s-]*down\s+migration/im);
  if (at >= 0 && !/^\s*--[\s-]*up\s+migration/i.test(text))
    throw new Error(
      `Cannot read migration ${name}: it has a "Down Migration" but no "-- Up Migration". Add that line.`,
    );
  return at < 0 ? { up: text, down: null } : { up: text.slice(0, at), down: text.slice(at) };
};
