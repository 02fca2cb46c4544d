import { readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import pg from 'pg';
import { checkSchema, migrate, migrateDown, plannedDown, plannedMigrations } from '../../postgres/migrating/migrate';
import { knownMigrations } from '../../postgres/migrating/files';
import { parseMigrationName, unknownMigrations } from '../../postgres/migrating/name';
import { EXPAND, makeBuild } from '../cli/builds';
import type { TestDatabase } from '../helpers/database';
import { createDatabase } from '../helpers/database';
import { eventually } from '../helpers/eventually';
import { dumpSchema } from './schemaDump';

/** @slow */

const COMMITTED = readFileSync(path.join(__dirname, '..', '..', 'postgres', 'schema.sql'), 'utf8');

/** A release with migrations more, made up: its own functions, which read its own files. */
const later = makeBuild({
  '900001_made_up': EXPAND,
  '900002_index': '-- Up Migration\ncreate index made_up_task on made_up (task);\n',
});
const release = createRequire(__filename)(path.join(later.folder, 'dist', 'postgres', 'migrating', 'migrate.js')) as {
  migrate: typeof migrate;
  plannedMigrations: typeof plannedMigrations;
};
afterAll(() => rmSync(later.folder, { recursive: true, force: true }));

let database: TestDatabase;
let db: pg.Client;
beforeEach(async () => {
  database = await createDatabase({ empty: true, max: 4 });
  db = new pg.Client({ connectionString: database.url });
  await db.connect();
});
afterEach(async () => {
  await db.end();
  await database.drop();
});

describe('what the name of a migration says', () => {
  test.each([
    ['000012_due_index', { number: 12, needs: null }],
    ['000015_drop_due.needs_000014', { number: 15, needs: 14 }],
    ['12_short', null],
    ['000012_a.other', null],
    ['000012_a.needs_14', null],
  ])('%s', (name, parsed) => expect(parseMigrationName(name)).toEqual(parsed));

  test('every migration of ours has such a name, a number of its own, and needs none that comes after it', () => {
    const parsed = knownMigrations().map(parseMigrationName);
    expect(parsed).not.toContain(null);
    expect(new Set(parsed.map((name) => name!.number)).size).toBe(parsed.length);
    for (const name of parsed) expect(name!.needs ?? 0).toBeLessThanOrEqual(name!.number);
  });

  const known = ['000001_a', '000002_b', '000003_c'];
  test.each<[string, string[], string[], string[]]>([
    ['nothing more', known, [], []],
    ['fewer than we know', ['000001_a'], [], []],
    ['additive', [...known, '000004_d', '000005_e'], ['000004_d', '000005_e'], []],
    ['one for programs that know what we know', [...known, '000004_d.needs_000003'], ['000004_d.needs_000003'], []],
    [
      'one for newer programs',
      [...known, '000004_d', '000005_e.needs_000004'],
      ['000004_d'],
      ['000005_e.needs_000004'],
    ],
    ['one for programs that know it', [...known, '000004_d.needs_000004'], [], ['000004_d.needs_000004']],
    ['a name of a form that is not ours', [...known, '000004_d.locked'], [], ['000004_d.locked']],
  ])('of what is applied: %s', (_what, applied, compatible, breaking) =>
    expect(unknownMigrations(applied, known)).toEqual({ compatible, breaking }),
  );
});

test('a program runs on tables of newer migrations that are additive or that it knows enough for, and says which', async () => {
  await migrate(database.url);
  const newest = parseMigrationName(knownMigrations().at(-1)!)!.number;
  const needs = `900002_contract.needs_${String(newest).padStart(6, '0')}`;
  const mark = (name: string) => db.query('insert into muster.migration (name, run_on) values ($1, now())', [name]);
  await mark('900001_expand');
  await mark(needs);
  expect(await checkSchema(database.pool)).toEqual(['900001_expand', needs]);
  expect(await migrate(database.url)).toEqual([]);
  expect(await plannedMigrations(database.url, 'muster')).toEqual([]);

  await mark('900003_contract.needs_900001');
  const refused = /schema is newer than this program: it has 900003_contract.needs_900001, which programs that know up/;
  // One after the other: one that is refused while another is awaited has nobody who hears of it.
  await expect(checkSchema(database.pool)).rejects.toThrow(refused);
  await expect(migrate(database.url)).rejects.toThrow(refused);
  await expect(plannedMigrations(database.url, 'muster')).rejects.toThrow(refused);
});

test.each(['muster', 'other_name'])(
  'the plan, run by another tool, makes in schema %s what migrate makes',
  async (schema) => {
    const plan = await plannedMigrations(database.url, schema);
    expect(plan.map(({ name }) => name)).toEqual(knownMigrations());
    const { rows } = await db.query('select 1 from information_schema.schemata where schema_name = $1', [schema]);
    expect(rows).toEqual([]); // it only read
    for (const { sql } of plan) await db.query(sql);
    expect((await db.query<{ search_path: string }>('show search_path')).rows[0]!.search_path).not.toContain(schema);
    await db.query(`set search_path to ${schema}`);
    expect(await dumpSchema(db)).toBe(COMMITTED);
    expect(await migrate(database.url, schema)).toEqual([]);
    expect(await checkSchema(db)).toEqual([]);
  },
);

test('of tables that are a few migrations behind, the plan has the rest', async () => {
  const [first, ...rest] = await release.plannedMigrations(database.url, 'muster');
  expect(rest.map(({ name }) => name)).toEqual([...knownMigrations().slice(1), '900001_made_up', '900002_index']);
  await db.query(first!.sql);
  expect(await release.plannedMigrations(database.url, 'muster')).toEqual(rest);
  expect(await release.migrate(database.url)).toEqual(rest.map(({ name }) => name));
});

test('a migration that waits for a long transaction does not hold up what comes after it', async () => {
  const plan = await release.plannedMigrations(database.url, 'muster');
  const changesHandler = plan.findIndex(({ sql }) => /alter table handler/.test(sql));
  expect(changesHandler).toBeGreaterThan(0);
  for (const { sql } of plan.slice(0, changesHandler)) await db.query(sql);
  const other = new pg.Client({ connectionString: database.url, options: '-c statement_timeout=30s' });
  await other.connect();
  try {
    await db.query('begin');
    await db.query('select from muster.handler');
    const migrating = release.migrate(database.url);
    await eventually(
      async () => {
        const { rows } = await other.query(
          `select 1 from pg_stat_activity where application_name = 'muster migrate' and wait_event_type = 'Lock'`,
        );
        return rows.length > 0;
      },
      { what: 'the migration to wait' },
    );
    await other.query('select from muster.handler');
    await db.query('commit');
    expect(await migrating).toEqual(plan.slice(changesHandler).map(({ name }) => name));
  } finally {
    await other.end();
  }
});

test('tables that began with another migration are refused, with a remedy, and nothing is changed', async () => {
  await migrate(database.url);
  await db.query(`update muster.migration set name = '000001_grouping' where name = '000001_muster'`);
  const refused =
    /^The database schema differs from this program's: its first migration is 000001_grouping, not 000001_muster\. .*use another schema/;
  for (const tried of [
    () => migrate(database.url),
    () => plannedMigrations(database.url, 'muster'),
    () => checkSchema(database.pool),
  ])
    await expect(tried()).rejects.toThrow(refused);
  expect((await db.query('select min(name) as name from muster.migration')).rows).toEqual([
    { name: '000001_grouping' },
  ]);
});

test('an index whose creation beside failed takes no other one away', async () => {
  await migrate(database.url);
  await migrateDown(database.url, 'muster', '000030');
  const valid = (is: boolean): Promise<unknown> =>
    db.query('update pg_index set indisvalid = $1 where indexrelid = $2::regclass', [is, 'muster.held_target_seq']);
  await valid(false);
  await expect(migrate(database.url)).rejects.toThrow('held_target_seq, which replaces it, is invalid');
  await valid(true);
  const applied = (await migrate(database.url)).join(' ');
  expect(applied).toBe(
    '000031_drop_held_target 000032_uncounted_ends 000033_timers_lanes 000034_read_at 000035_own_audit ' +
      '000036_mcp_door 000037_stalled_reads 000038_delayed_due 000039_tenant_rate',
  );
});

test('who could store tasks may call what a submit calls now, and no one else', async () => {
  const role = `app_${database.name}`;
  await migrate(database.url);
  await migrateDown(database.url, 'muster', '000026');
  const owner = `owner_${database.name}`;
  const columns = `columns_${database.name}`;
  await db.query(`
create role ${role}; create role ${owner}; create role ${columns};
alter table muster.task owner to ${owner}; grant insert (id) on muster.task to ${columns}`);
  const may = async (): Promise<unknown> => {
    const { rows } = await db.query<{ name: string; all: boolean }>(
      `select a.name, exists (select from aclexplode(p.proacl) where grantee = 0) as "all"
       from pg_proc p, unnest($1::text[]) a (name)
       where p.proname in ('unmark_targets', 'lock_tasks') and has_function_privilege(a.name, p.oid, 'execute')
       order by a.name, p.proname`,
      [[role, owner, columns]],
    );
    return rows;
  };
  const twice = (name: string): unknown[] => Array(2).fill({ name, all: false });
  try {
    await migrate(database.url);
    expect(await may()).toEqual([...twice(columns), ...twice(owner)]);
    await migrateDown(database.url, 'muster', '000026');
    await db.query(`grant insert on muster.task to ${role}`);
    await migrate(database.url);
    expect(await may()).toEqual([role, columns, owner].flatMap(twice));
  } finally {
    await db.query(`alter table muster.task owner to current_user;
drop owned by ${role}, ${owner}, ${columns}; drop role ${role}, ${owner}, ${columns}`);
  }
});

test('what cannot be undone is refused, and nothing is undone', async () => {
  await migrate(database.url);
  const undone = `
    000039_tenant_rate 000038_delayed_due
    000037_stalled_reads 000036_mcp_door 000035_own_audit 000034_read_at 000033_timers_lanes 000032_uncounted_ends
    000031_drop_held_target 000030_held_order 000028_bounds 000027_hidden_bulk_actions
    000026_due_of 000025_submit_waits 000024_submit_labels 000023_unused_targets
    000022_coalesce 000021_shared_limits 000020_labels 000019_paused
    000018_submit 000017_limits 000016_bulk_actions 000015_traces
    000014_lists 000013_payloads 000012_task_lists 000011_audit
    000010_tenants 000009_lost_items 000008_handed_dependencies 000007_checkpoints
    000006_task_dependencies 000005_taken_chunks 000004_last_call 000003_item_usage
    000002_node_answers`;
  expect(await migrateDown(database.url, 'muster', '000001')).toEqual(undone.trim().split(/\s+/));
  const before = await database.pool.query({ text: 'select name from migration' });
  for (const [to, reason] of [
    [undefined, /^Cannot undo: 000001_muster has no "Down Migration": .*Nothing was undone\.$/],
    ['999999', /^Cannot undo: expected a migration that was applied \(000001_muster\), got 999999\. Nothing/],
  ] as const) {
    await expect(migrateDown(database.url, 'muster', to)).rejects.toThrow(reason);
    await expect(plannedDown(database.url, 'muster', to)).rejects.toThrow(reason);
  }
  await db.query(`insert into muster.migration (name, run_on) values ('900001_expand', now())`);
  await expect(migrateDown(database.url, 'muster')).rejects.toThrow(
    'this program does not know 900001_expand. Use the Muster that applied it.',
  );
  await db.query(`delete from muster.migration where name = '900001_expand'`);
  expect((await database.pool.query({ text: 'select name from migration' })).rows).toEqual(before.rows);
});

const ARGUMENTS = `select pronargs as n from pg_proc where oid = 'muster.submit'::regproc`;
test('who may call "submit" keeps that right, and no one else gets it, when its arguments change', async () => {
  await migrate(database.url);
  const roles = ['caller', 'granter', 'stranger'].map((role) => `${role}_${database.name}`);
  const [caller, granter] = roles;
  await db.query(roles.map((role) => `create role ${role};`).join(' '));
  const rights = async () =>
    (
      await db.query(
        `select r.rolname as role, has_function_privilege(r.oid, p.oid, 'execute') as calls,
           has_function_privilege(r.oid, p.oid, 'execute with grant option') as grants
         from pg_proc p cross join pg_roles r
         where p.proname = 'submit' and p.pronamespace = 'muster'::regnamespace and r.rolname = any($1) order by 1`,
        [roles],
      )
    ).rows;
  try {
    await db.query(`grant execute on function muster.submit to ${caller}`);
    await db.query(`grant execute on function muster.submit to ${granter} with grant option`);
    const before = await rights();
    expect(before.map(({ calls, grants }) => [calls, grants])).toEqual([
      [true, false],
      [true, true],
      [false, false],
    ]);
    await migrateDown(database.url, 'muster', '000022');
    expect(await rights()).toEqual(before);
    await migrate(database.url);
    expect(await rights()).toEqual(before);
    // It runs with the rights of its owner, who may not be who migrates.
    await migrateDown(database.url, 'muster', '000024');
    expect((await db.query(ARGUMENTS)).rows).toEqual([{ n: 12 }]);
    await db.query(`alter function muster.submit owner to ${granter}`);
    await migrate(database.url);
    const owner = `select proowner::regrole::text as name from pg_proc where oid = 'muster.submit'::regproc`;
    expect((await db.query(owner)).rows).toEqual([{ name: granter }]);
    await db.query('alter function muster.submit owner to current_user');
  } finally {
    await db.query(`drop owned by ${roles.join(', ')}; drop role ${roles.join(', ')}`);
  }
});
