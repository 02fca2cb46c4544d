import { checkSchema } from '../../../postgres/migrating/migrate';
import { rolesSql } from '../../../postgres/migrating/roles';
import { createDatabase } from '../../helpers/database';
import { Rows } from '../rows/rows';

let rows: Rows;
let migrations: string[];
beforeAll(async () => {
  rows = await Rows.open();
  const found = await rows.query<{ name: string }>('select name from migration order by name');
  migrations = found.map(({ name }) => name);
});
afterAll(() => rows.close());

/** What a check finds while these migrations are missing. */
const checkWithout = async (names: readonly string[]): Promise<string[]> => {
  const client = await rows.pool.connect();
  try {
    await client.query('begin');
    await client.query('delete from migration where name = any($1::text[])', [names]);
    return await checkSchema(client);
  } finally {
    await client.query('rollback');
    client.release();
  }
};

test('a program runs on the tables that it knows', async () => {
  expect(migrations.length).toBeGreaterThan(1);
  expect(await checkWithout([])).toEqual([]);
});

test('a program does not run where one of its migrations is missing, and names each', async () => {
  for (const missing of [migrations.slice(-1), migrations.slice(-2)])
    await expect(checkWithout(missing)).rejects.toMatchObject({
      code: 'SCHEMA_MISSING',
      message: expect.stringContaining(`(missing ${missing.join(', ')})`),
    });
});

test('a program does not run where there are no tables', async () => {
  const empty = await createDatabase({ empty: true });
  try {
    await expect(checkSchema(empty.pool)).rejects.toMatchObject({
      code: 'SCHEMA_MISSING',
      message: expect.stringContaining('(no tables)'),
    });
  } finally {
    await empty.drop();
  }
});

test('the roles are granted tables and columns that are there', async () => {
  const found = await rows.query<{ table: string; columns: string[] }>(
    `select c.relname as table, array_agg(a.attname::text) as columns
     from pg_class c join pg_attribute a on a.attrelid = c.oid
     where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'v') and a.attnum > 0
     group by 1`,
  );
  const columnsOf = new Map(found.map(({ table, columns }) => [table, columns]));
  const granted = [...rolesSql('muster').matchAll(/^(?:grant|revoke) (.*) on "muster"\."([^"]*)" (?:to|from) \w+;$/gm)];
  expect(granted.length).toBeGreaterThan(20);
  for (const [grant, rights, table] of granted) {
    const columns = [...rights!.matchAll(/\(([^)]*)\)/g)].flatMap(([, names]) => names!.split(', '));
    const missing = columns.filter((column) => columnsOf.get(table!)?.includes(column) !== true);
    expect({ grant, isThere: columnsOf.has(table!), missing }).toEqual({ grant, isThere: true, missing: [] });
  }
});
