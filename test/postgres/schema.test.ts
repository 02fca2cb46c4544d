import { readFileSync } from 'node:fs';
import path from 'node:path';
import pg from 'pg';
import { OBJECTS_FILE, readDrift } from '../../postgres/migrating/drift';
import { migrate } from '../../postgres/migrating/migrate';
import type { TestDatabase } from '../helpers/database';
import { createDatabase } from '../helpers/database';
import { dumpObjects, dumpSchema } from './schemaDump';

/**
 * Build 1: the schema diff of `npm run check`. Review sees the schema, not only its history.
 */

const COMMITTED = readFileSync(path.join(__dirname, '..', '..', 'postgres', 'schema.sql'), 'utf8');
const databases: TestDatabase[] = [];
afterAll(async () => {
  for (const database of databases) await database.drop();
});

const emptyDatabase = async (): Promise<string> => {
  const database = await createDatabase({ empty: true, max: 1 });
  databases.push(database);
  return database.url;
};
const withSchema = async <T>(url: string, schema: string, work: (db: pg.Client) => Promise<T>): Promise<T> => {
  const db = new pg.Client({ connectionString: url, options: `-c search_path=${schema}` });
  await db.connect();
  try {
    return await work(db);
  } finally {
    await db.end();
  }
};

test('a fresh database after all migrations has the schema of postgres/schema.sql [Build 1]', async () => {
  const url = await emptyDatabase();
  await migrate(url);
  const dump = await withSchema(url, 'muster', dumpSchema);
  // On a difference: read it, then `npm run schema:dump`, and commit both.
  expect(dump).toBe(COMMITTED);
});

test('the objects by which muster doctor finds drift are those of the migrations, in each schema', async () => {
  const url = await emptyDatabase();
  await migrate(url, 'other_name');
  expect(await withSchema(url, 'other_name', dumpObjects)).toBe(readFileSync(OBJECTS_FILE, 'utf8'));
});

test.each([
  ['drop index held_target_seq', { missing: ['index held_target_seq'], changed: [] }],
  ['drop function is_url(text)', { missing: ['function is_url(text)'], changed: [] }],
  [
    "create or replace function is_url(value text) returns boolean immutable language sql as 'select true'",
    { missing: [], changed: ['function is_url(text)'] },
  ],
  ['alter table task alter column id drop not null', { missing: [], changed: ['column task.id'] }],
  ['create index of_a_dba on task (id)', { missing: [], changed: [] }],
])('of a schema after "%s" the drift is named', async (change, drift) => {
  const found = await withSchema(databases[0]!.url, 'muster', async (db) => {
    await db.query('begin');
    await db.query(change);
    const read = await readDrift(db);
    await db.query('rollback');
    return read;
  });
  expect(found).toEqual(drift);
});

test('in a schema of another name it is the same [Build 3]', async () => {
  const url = await emptyDatabase();
  await migrate(url, 'other_name');
  expect(await withSchema(url, 'other_name', dumpSchema)).toBe(COMMITTED);
});

test('schema.sql leaves nothing out: run in an empty schema, it makes what it describes', async () => {
  const url = await emptyDatabase();
  const again = await withSchema(url, 'muster', async (db) => {
    await db.query('create schema muster');
    await db.query(COMMITTED);
    return dumpSchema(db);
  });
  expect(again).toBe(COMMITTED);
});

test.each([
  ['a column', 'alter table task add column extra int', 'extra integer'],
  ['a default', 'alter table queue alter column attempts set default 1', 'attempts smallint not null default 1'],
  ['a storage parameter', 'alter table task set (fillfactor = 63)', 'fillfactor=63'],
  ['a check', 'alter table member add constraint positive check (seq > 0)', 'CHECK (seq > 0)'],
  ['an index condition', 'create index extra on batch (id) where n > 1', 'WHERE n > 1'],
  [
    'a function',
    `create or replace function clock() returns timestamptz stable language sql as 'select now()'`,
    'select now()',
  ],
  ['a comment', `comment on column leader.state is '0 asleep'`, '0 asleep'],
  ['a view', 'create view extra as select seq from task', 'create view extra as'],
])('the dump shows a change of %s', async (_what, change, shown) => {
  const url = databases[0]!.url;
  const dump = await withSchema(url, 'muster', async (db) => {
    await db.query('begin');
    await db.query(change);
    const changed = await dumpSchema(db);
    await db.query('rollback');
    return changed;
  });
  expect(dump).not.toBe(COMMITTED);
  expect(dump).toContain(shown);
  expect(COMMITTED).not.toContain(shown);
});
