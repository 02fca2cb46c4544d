import { rmSync } from 'node:fs';
import path from 'node:path';
import { ROOT } from '../../project/project';
import type { TestDatabase } from '../../helpers/database';
import { createDatabase } from '../../helpers/database';
import type { Build } from '../builds';
import { CONTRACT, EXPAND, makeBuild } from '../builds';
import { runProcess } from '../process';

/** `muster migrate` of this build and of two that are made up, each with a migration more. @slow */

const MUSTER: Build = { folder: ROOT, bin: path.join(ROOT, 'bin', 'muster.js') };
let two: Build;
let three: Build;
let database: TestDatabase;
beforeAll(async () => {
  two = makeBuild({ '900001_made_up': EXPAND });
  three = makeBuild({ '900001_made_up': EXPAND, '900002_contract.needs_900001': CONTRACT });
  database = await createDatabase({ max: 1 });
});
afterAll(async () => {
  await database.drop();
  for (const { folder } of [two, three]) rmSync(folder, { recursive: true });
});

const run = ({ bin, folder }: Build, ...args: string[]) =>
  runProcess(args, { cwd: folder, env: { MUSTER_DATABASE_URL: database.url }, bin });

test('migrate --plan: the SQL alone on stdout, or as JSON; down likewise, and refused where it cannot be', async () => {
  const [sql, json, none] = await Promise.all([
    run(two, 'migrate', '--plan'),
    run(three, 'migrate', '--plan', '--json'),
    run(MUSTER, 'migrate', '--plan', '--json'),
  ]);
  expect(sql.stdout).toMatch(/^-- muster: 900001_made_up, up\nbegin;\n[^]*alter table task add column[^]*commit;\n$/);
  const up = { direction: 'up', sql: expect.stringContaining('insert into "muster".migration') as string };
  expect(json.json()).toEqual({
    schema: 'muster',
    plan: [
      { name: '900001_made_up', needs: null, ...up },
      { name: '900002_contract.needs_900001', needs: '900001', ...up },
    ],
  });
  expect(none.json()).toEqual({ schema: 'muster', plan: [] });

  expect((await run(two, 'migrate')).code).toBe(0);
  const down = await run(two, 'migrate', 'down', '--plan');
  expect(down.stdout).toMatch(/^-- muster: 900001_made_up, down\n[^]*drop table made_up;[^]*delete from[^]*commit;\n$/);
  expect((await run(two, 'migrate', '--plan')).stdout).toBe('-- muster: nothing to run\n');

  // What removes cannot be undone.
  expect((await run(three, 'migrate')).code).toBe(0);
  const refused = await run(three, 'migrate', 'down', '--json');
  expect([refused.code, refused.json()]).toMatchObject([1, { error: { code: 'REFUSED' } }]);
});

test('migrate --roles: then the roles have their rights, again and again; there is no plan of it', async () => {
  for (const _ of [1, 2]) expect((await run(three, 'migrate', '--roles')).code).toBe(0);
  const { rows } = await database.pool.query<{ owner: string; may: boolean }>({
    text: `select tableowner as owner, has_table_privilege('muster_worker', 'muster.task', 'insert') as may
      from pg_tables where schemaname = 'muster' and tablename = 'task'`,
  });
  expect(rows).toEqual([{ owner: 'muster_owner', may: true }]);
  const both = await run(three, 'migrate', '--roles', '--plan');
  expect([both.code, both.stderr]).toEqual([
    2,
    expect.stringContaining("'--roles' cannot be used with option '--plan'"),
  ]);
});
