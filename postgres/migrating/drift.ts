import { readFileSync } from 'node:fs';
import path from 'node:path';
import { readSchemaObjects } from '../operations/schemaObjects';
import type { SchemaObject } from '../operations/schemaObjects';
import type { Queryable } from '../pool';

/** All objects after all migrations, by name: written by `npm run schema:dump`. */
export const OBJECTS_FILE = path.join(__dirname, '..', 'schemaObjects.json');

/** How a schema differs from that of the migrations; objects of others are not Muster's concern. */
export interface Drift {
  missing: string[];
  changed: string[];
}

const compareObjects = (expected: Readonly<Record<string, string>>, found: readonly SchemaObject[]): Drift => {
  const there = new Map(found.map(({ name, definition }) => [name, definition]));
  const names = Object.keys(expected);
  const missing = names.filter((name) => !there.has(name));
  return { missing, changed: names.filter((name) => there.has(name) && there.get(name) !== expected[name]) };
};

/** Compares the tables with those that the migrations of this program make. */
export const readDrift = async (db: Queryable): Promise<Drift> =>
  compareObjects(JSON.parse(readFileSync(OBJECTS_FILE, 'utf8')) as Record<string, string>, await readSchemaObjects(db));
