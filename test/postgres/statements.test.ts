import pg from 'pg';
import type { TestDatabase } from '../helpers/database';
import { createDatabase } from '../helpers/database';
import { createAhead } from '../../postgres/testing/clock';
import type { ResultColumn } from './statements/describe';
import { describeStatement } from './statements/describe';
import type { DeclaredColumn, Statement } from './statements/find';
import { findStatements } from './statements/find';

/**
 * Postgres describes every statement of the product on the product's tables, and its columns are
 * those of the row type that the statement's caller declares: names and kinds of values.
 */

/** Statements made at run time, by file: tables, columns or conditions come as arguments. */
const MADE_AT_RUN_TIME: Readonly<Record<string, number>> = {
  'postgres/callersTransaction.ts': 1, // hands statements on
  'postgres/listing/batchList.ts': 1, // these seven: each is run by test/client/list
  'postgres/listing/batches.ts': 1,
  'postgres/listing/byTime.ts': 2,
  'postgres/listing/ended.ts': 1,
  'postgres/listing/errors.ts': 1,
  'postgres/listing/tagged.ts': 1,
  'postgres/listing/waiting.ts': 1,
  'postgres/migrating/migrate.ts': 1, // of any schema
  'postgres/operations/sample.ts': 6, // of any table
  'postgres/operations/statusCounts.ts': 4, // of any table
  'postgres/operations/verify.ts': 2, // each invariant is run by test/client/verify.test.ts
  'postgres/testing/database.ts': 2, // of any database
};

let database: TestDatabase;
let client: pg.Client;
beforeAll(async () => {
  database = await createDatabase({ max: 1 });
  client = new pg.Client({ connectionString: database.url, options: '-c search_path=muster' });
  await client.connect();
  await createAhead(client); // of stores whose clock a test moves
});
afterAll(async () => {
  await client.end();
  await database.drop();
});

/** Returns how declared and described columns differ. */
const differences = (declared: readonly DeclaredColumn[], described: readonly ResultColumn[]): string[] => {
  const found = new Map(described.map(({ name, type }) => [name, type]));
  const wrong: string[] = [];
  for (const { name, type } of declared) {
    const real = found.get(name);
    if (real === undefined) wrong.push(`column ${name} is declared, and not selected`);
    // JSON may hold any value.
    else if (real !== type && real !== 'json' && !(real === 'json[]' && type.endsWith('[]')))
      wrong.push(`column ${name} is declared as ${type}, and selected as ${real}`);
  }
  const names = new Set(declared.map(({ name }) => name));
  for (const { name } of described) if (!names.has(name)) wrong.push(`column ${name} is selected, and not declared`);
  return wrong;
};

const judge = async ({ at, text, columns }: Statement): Promise<string[]> => {
  try {
    const described = await describeStatement(client, text!);
    return columns === null ? [] : differences(columns, described).map((what) => `${at}: ${what}`);
  } catch (error) {
    return [`${at}: ${(error as Error).message}`];
  }
};

test('every statement is one for these tables, and its row type names its columns', async () => {
  const statements = findStatements();
  const dynamic = new Map<string, number>();
  const wrong: string[] = [];
  for (const statement of statements) {
    const file = statement.at.split(':')[0]!;
    if (statement.text === null) dynamic.set(file, (dynamic.get(file) ?? 0) + 1);
    else wrong.push(...(await judge(statement)));
  }
  expect(wrong).toEqual([]);
  expect(Object.fromEntries(dynamic)).toEqual(MADE_AT_RUN_TIME);
  expect(statements.length).toBeGreaterThan(300);
});

describe('what would be found', () => {
  test.each<[string, Omit<Statement, 'at'>, RegExp[]]>([
    ['nothing', { text: 'select id, name from handler', columns: columns({ id: 'number', name: 'string' }) }, []],
    [
      'another type',
      { text: 'select id from handler', columns: columns({ id: 'string' }) },
      [/declared as string, and selected as number/],
    ],
    [
      'a column less',
      { text: 'select id from handler', columns: columns({ id: 'number', name: 'string' }) },
      [/name is declared, and not/],
    ],
    [
      'a column more',
      { text: 'select id, name from handler', columns: columns({ id: 'number' }) },
      [/name is selected, and not declared/],
    ],
    ['no such column', { text: 'select nothing from handler', columns: null }, [/column "nothing" does not exist/]],
  ])('%s', async (_what, statement, expected) => {
    expect(await judge({ at: 'made up:1', ...statement })).toEqual(
      expected.map((pattern) => expect.stringMatching(pattern) as string),
    );
  });
});

function columns(types: Readonly<Record<string, string>>): DeclaredColumn[] {
  return Object.entries(types).map(([name, type]) => ({ name, type }));
}
