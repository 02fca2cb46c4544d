import pg from 'pg';
import { plannedMigrations } from '../../postgres/migrating/migrate';
import type { TestDatabase } from '../helpers/database';
import { createDatabase } from '../helpers/database';
import { breakingChanges, readCatalog } from './compatible';

/**
 * The rule of postgres/migrations/README.md: a migration only adds, unless its name says what it
 * needs.
 */

/** The first one: no program runs on less. */
const FIRST = 1;

/** Functions that were replaced, and that answer the version before as they did. */
const WIDENED = [
  // Other answers only of a handler with coalesceBy, which that version does not have.
  '000022_coalesce: function check_task has changed',
  '000022_coalesce: function submit has changed',
  // The same target; it takes a mark away that no version before knows.
  '000023_unused_targets: function target_of has changed',
  // Three arguments more, which may be left out.
  '000024_submit_labels: function submit has changed',
  // Three arguments more, which may be left out.
  '000025_submit_waits: function submit has changed',
  // The same answer, by the rule that is written once.
  '000026_due_of: function coalesced_due has changed',
  // The same answer, but where a session moves it, which no program does.
  '000028_bounds: function clock has changed',
  // It refuses what its index could not hold.
  '000028_bounds: function is_url has changed',
  // Only `is_url` called it.
  '000028_bounds: function utf16_length is gone',
  // Another hint of a refusal.
  '000033_timers_lanes: function check_task has changed',
  // It takes one door more, which no version before writes.
  '000036_mcp_door: constraint on audit: CHECK ((door = ANY (ARRAY[' +
    `'client'::text, 'cli'::text, 'api'::text, 'mcp'::text]))) ` +
    'is new, and what the version before writes may violate it',
  // It refuses that door, too, to who may only submit.
  '000036_mcp_door: function own_audit has changed',
];

let database: TestDatabase;
let db: pg.Client;
beforeAll(async () => {
  database = await createDatabase({ empty: true, max: 1 });
  db = new pg.Client({ connectionString: database.url });
  await db.connect();
});
afterAll(async () => {
  await db.end();
  await database.drop();
});

test('a migration without the mark breaks nothing for the version before', async () => {
  const broken: string[] = [];
  for (const { name, needs, sql } of await plannedMigrations(database.url, 'muster')) {
    const isCompared = Number(name.slice(0, 6)) > FIRST;
    const before = isCompared ? await readCatalog(db, 'muster') : null;
    await db.query(sql);
    if (before === null || needs !== null) continue;
    const changes = breakingChanges(before, await readCatalog(db, 'muster'));
    broken.push(...changes.map((change) => `${name}: ${change}`));
  }
  expect(broken.sort()).toEqual(WIDENED);
});

describe('what breaks the version before', () => {
  test.each<[string, string, RegExp[]]>([
    ['a new table', 'create table extra (id int primary key, n int not null)', []],
    ['a column that may be null', 'alter table task add column extra int', []],
    ['a column with a default', 'alter table task add column extra int not null default 0', []],
    ['an index', 'create index extra on task (seq)', []],
    ['a check of a new column', 'alter table task add column extra int check (extra > 0)', []],
    ['a check less', 'alter table handler drop constraint handler_max_items_check', []],
    ['a column that must be given', 'alter table drain add column extra int not null', [/^column drain.extra is new/]],
    ['a column less', 'alter table handler drop column pause_reason', [/^column handler.pause_reason is gone$/]],
    [
      'a renamed column',
      'alter table handler rename column pause_reason to why',
      [/^column handler.pause_reason is gone$/],
    ],
    [
      'another type',
      'alter table handler alter column max_items type bigint',
      [/^column handler.max_items has changed$/],
    ],
    [
      'not null',
      'alter table handler alter column max_bytes set not null',
      [/^column handler.max_bytes must be given now$/],
    ],
    [
      'a default less',
      'alter table handler alter column min_items drop default',
      [/^column handler.min_items must be given now$/],
    ],
    [
      'a table less',
      'drop table drain',
      [/^column drain/, /^column drain/, /^column drain/, /^constraint on drain: PRIMARY KEY/],
    ],
    ['a check of old columns', 'alter table handler add check (leaders < 7)', [/^constraint on handler: CHECK/]],
    [
      'a unique index over old columns',
      'create unique index extra on handler (max_items)',
      [/^unique index .* is new/],
    ],
    [
      'another answer of a function',
      "create or replace function clock() returns timestamptz stable language sql as 'select now()'",
      [/^function clock has changed$/],
    ],
  ])('%s', async (_what, change, expected) => {
    await db.query('begin');
    try {
      await db.query("set local search_path to 'muster'");
      const before = await readCatalog(db, 'muster');
      await db.query(change);
      const found = breakingChanges(before, await readCatalog(db, 'muster'));
      expect(found.sort()).toEqual(expected.map((pattern) => expect.stringMatching(pattern) as string));
    } finally {
      await db.query('rollback');
    }
  });
});
