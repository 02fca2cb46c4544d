import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { checkSchema, grantRoles, migrate, migrateDown } from '../../../postgres/migrating/migrate';
import { ROLES } from '../../../postgres/migrating/roles';
import { concludeAudit, insertAudit } from '../../../postgres/operations/audit';
import type { Pool } from '../../../postgres/pool';
import { createPool } from '../../../postgres/pool';
import { postgresUrl } from '../../helpers/database';
import { ROOT } from '../../project/project';

/**
 * The accounts of docker-compose.yml, as deploy/postgres-init.sh makes them: the owner migrates and
 * grants, workers and the API do their work, and cannot switch the audit off.
 */

const run = promisify(execFile);
const suffix = randomBytes(5).toString('hex');
const [database, owner, worker] = [`test_${suffix}`, `t_owner_${suffix}`, `t_worker_${suffix}`];
const urlOf = (user: string | null, name = database): string => {
  const url = new URL(postgresUrl());
  url.pathname = `/${name}`;
  if (user !== null) Object.assign(url, { username: user, password: 'sec:ret/' });
  return url.href;
};

/** Of psql, what the script uses: a machine with the tests need not have it. */
const PSQL = `#!${process.execPath}
const pg = require(${JSON.stringify(require.resolve('pg'))});
const { argv, env } = process;
const vars = {};
for (const [at, word] of argv.entries()) {
  const [name, value] = (argv[at + 1] ?? '').split('=');
  if (word === '--set') vars[name] = value;
}
const filled = (sql) => sql
  .replace(/:'(\\w+)'/g, (_, name) => pg.escapeLiteral(vars[name]))
  .replace(/:"(\\w+)"/g, (_, name) => pg.escapeIdentifier(vars[name]));
(async () => {
  const client = new pg.Client({ connectionString: env.PSQL_URL });
  await client.connect();
  let statement = '';
  for (const line of require('node:fs').readFileSync(0, 'utf8').split('\\n')) {
    const got = /^\\\\getenv (\\w+) (\\w+)$/.exec(line);
    if (got !== null) { vars[got[1]] = env[got[2]]; continue; }
    statement += line + ' ';
    const isMade = line.endsWith('\\\\gexec');
    if (!isMade && !line.endsWith(';')) continue;
    const { rows } = await client.query(filled(statement.replace('\\\\gexec', '')));
    if (isMade) for (const row of rows) await client.query(Object.values(row)[0]);
    statement = '';
  }
  if (statement.trim() !== '') throw new Error('left: ' + statement);
  await client.end();
})().catch((error) => { console.error(error); process.exit(3); });
`;

let folder: string;
let admin: pg.Client;
let pool: Pool;
beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'muster-psql-'));
  writeFileSync(path.join(folder, 'psql'), PSQL, { mode: 0o755 });
  admin = new pg.Client({ connectionString: postgresUrl() });
  await admin.connect();
});
afterAll(async () => {
  await pool?.end();
  await admin.query(`drop database if exists ${database} with (force)`);
  for (const user of [owner, worker]) await admin.query(`drop role if exists ${user}`);
  await admin.end();
  rmSync(folder, { recursive: true });
});

const init = (more: Record<string, string> = {}) =>
  run(path.join(ROOT, 'deploy', 'postgres-init.sh'), {
    env: {
      PATH: `${folder}:${process.env['PATH']}`,
      PSQL_URL: urlOf(null, 'postgres'),
      APP_USER: owner,
      APP_PASSWORD: 'sec:ret/',
      APP_DATABASES: database,
      ...more,
    },
  });

test('the script makes the accounts; an older installation gets that of workers by running it again', async () => {
  await init();
  const users = async (): Promise<string[]> =>
    (
      await admin.query<{ name: string }>('select rolname as name from pg_roles where rolname like $1', [
        `t_%_${suffix}`,
      ])
    ).rows
      .map(({ name }) => name)
      .sort();
  expect(await users()).toEqual([owner]);
  for (const _ of [1, 2]) await init({ APP_WORKER_USER: worker, APP_WORKER_PASSWORD: 'sec:ret/' });
  expect(await users()).toEqual([owner, worker]);
  const { rows } = await admin.query<{ super: boolean; makes: boolean }>(
    'select rolsuper as super, rolcreaterole or rolcreatedb as makes from pg_roles where rolname = any($1)',
    [[owner, worker, ...Object.values(ROLES)]],
  );
  expect(rows).toEqual(Array(5).fill({ super: false, makes: false }));
});

test('the owner migrates and grants, again and again; a worker runs on the tables', async () => {
  const url = urlOf(owner);
  await migrate(url);
  await grantRoles(url, 'muster');
  await migrateDown(url, 'muster');
  expect(await migrate(url)).toHaveLength(1);
  for (const _ of [1, 2]) await grantRoles(url, 'muster');
  pool = createPool({ databaseUrl: urlOf(worker), max: 2 });
  expect(await checkSchema(pool)).toEqual([]);
  const entry = {
    who: 'token 1 (ops)',
    door: 'api',
    origin: null,
    verb: 'pause',
    subject: 'handler a',
    detail: '{}',
  } as const;
  await concludeAudit(pool, await insertAudit(pool, entry), { outcome: 'done', answer: null });
});

test.each([
  'alter table audit disable trigger keep_audit',
  'alter table audit disable trigger all',
  'drop trigger keep_audit on audit',
  'drop function keep_audit() cascade',
  'create or replace function keep_audit() returns trigger language plpgsql as $$ begin return old; end $$',
  'drop table audit',
  'truncate audit',
  `update audit set who = 'another'`,
  'set session_replication_role = replica',
  'set role muster_owner',
  `set role ${owner}`,
  `insert into api_token (name, hash, scopes) values ('a', '', '{admin}')`,
])('a worker is refused: %s', async (text) => {
  await expect(pool.query(text)).rejects.toMatchObject({ cause: { code: '42501' } });
});
