import pino from 'pino';
import { createClient } from '../../../client';
import { defineHandler } from '../../../handlers';
import { defineFunction } from '../../../handlers/functions';
import { NO_QUOTAS, upsertTenant } from '../../../postgres/api/tenant';
import { insertToken, readTokens, SCOPES } from '../../../postgres/api/token';
import { plannedMigrations } from '../../../postgres/migrating/migrate';
import { ROLES } from '../../../postgres/migrating/roles';
import { startApi } from '../../../workers/api/api';
import { hashToken, newToken } from '../../../workers/api/tokens';
import { caller, settingsFor } from '../../api/world';
import { eventually } from '../../helpers/eventually';
import { expectWhole } from '../../helpers/whole';
import type { Pool } from '../../../postgres/pool';
import { Tally } from '../tally';
import type { RolesWorld } from './world';
import { openRolesWorld } from './world';

/** The database roles: what each needs works, and nothing else does. @slow */

interface Work {
  to: string;
}
const base = {
  target: (work: Work) => work.to,
  limits: { maxItems: 50 },
  linger: { lingerMs: 50 },
  submit: async (batch: { tasks: readonly { id: string }[] }) => ({
    results: batch.tasks.map(({ id }) => ({ id, status: 'ok' as const })),
  }),
};
const handlers = [
  defineHandler<Work>({ ...base, name: 'jobs' }),
  defineHandler<Work>({ ...base, name: 'lane', service: (target) => target, lane: { approach: 'serial' } }),
];
const echo = defineFunction({ name: 'echo', run: (args) => args.join(' ') });

let world: RolesWorld;
beforeAll(async () => {
  world = await openRolesWorld(handlers, [echo]);
});
afterAll(() => world.stop());

describe('a worker as muster_worker and a client as muster_submit', () => {
  test('tasks, also with callbacks, dependencies and a time, are accepted, sent and followed', async () => {
    const { client } = world;
    const ids = Array.from({ length: 30 }, (_, i) => `a${i}`);
    await client.submit(
      'jobs',
      ids.map((id) => ({ id, payload: { to: id.slice(0, 2) } })),
    );
    await client.submit('jobs', [
      { id: 'called', payload: { to: 'b' }, callback: { workflowId: 'never-was' } },
      { id: 'later', payload: { to: 'b' }, notBefore: Date.now() + 200, priority: 3, tags: ['red'] },
      { id: 'after', payload: { to: 'b' }, dependsOn: ['a0', 'later'] },
    ]);
    await client.submit('jobs', [{ id: 'a0', payload: { to: 'a0' } }]); // again
    const sql = `select submit('jobs', 'sql', $1, 'b', depends_on => '{after}', callback => $2)`;
    await world.pools.submit.query(sql, [{ to: 'b' }, { url: 'https://never.example' }]);
    const tasks = await client.waitFor([...ids, 'called', 'later', 'after', 'sql'], { timeoutMs: 60_000 });
    expect(tasks.map(({ state }) => state)).toEqual(tasks.map(() => 'succeeded'));
    // What it depends on has ended: this client may not release it, so the sweeper does.
    await client.submit('jobs', [{ id: 'after the end', payload: { to: 'b' }, dependsOn: ['a0', 'a1'] }]);
    expect((await client.waitFor(['after the end'], { timeoutMs: 60_000 }))[0]).toMatchObject({ state: 'succeeded' });
    expect(await client.explain('after')).toMatchObject({ text: expect.any(String) });
    expect(await client.getTask('later')).toMatchObject({ state: 'succeeded', tags: ['red'] });
    expect((await client.status()).length).toBeGreaterThan(0);
  });

  test('lane batches and tasks of a lane, fan-outs, executions', async () => {
    const { client } = world;
    const batches = await client.submitBatches('lane', [
      { service: 's', items: [{ id: 'l1', payload: { to: 's' } }] },
      { service: 's', items: [{ id: 'l2', payload: { to: 's' } }] },
    ]);
    await client.submit('lane', [{ id: 'l3', payload: { to: 'q' } }]);
    const tasks = await client.waitFor(['l1', 'l2', 'l3'], { timeoutMs: 60_000 });
    expect(tasks.map(({ state }) => state)).toEqual(['succeeded', 'succeeded', 'succeeded']);
    expect(await client.batchStatus(batches[0]!.batch)).toMatchObject({ status: 'committed' });
    const fanout = await client.openFanout({ notify: { workflowId: 'never-was' } });
    const items = await client.addItems(fanout.id, 20);
    await client.ackItems(items);
    await client.sealFanout(fanout.id);
    expect(await client.getFanout(fanout.id)).toMatchObject({ state: 'complete' });

    const execution = await client.execute({ functionId: 'echo', method: 'x' }, [['1'], ['2']]);
    await execution.wait({ timeoutMs: 60_000 });
    expect(await execution.status()).toMatchObject({ state: 'done' });
  });
});

test('the HTTP API as muster_worker: it knows tokens, notes their use, and writes down changes', async () => {
  const { database, urls } = world;
  const settings = { ...settingsFor(database, 'roles', { handlers, open: false }), databaseUrl: urls.worker };
  const api = await startApi(settings, { log: pino({ level: 'silent' }), maxConnections: 4 });
  const call = caller(() => api.url);
  try {
    await upsertTenant(database.pool, 'acme', { ...NO_QUOTAS, maxQueued: 1 });
    const [limited, operator] = [newToken(), newToken()];
    const made = { name: 'role', scopes: SCOPES };
    await insertToken(database.pool, { ...made, hash: hashToken(limited), tenant: 'acme' });
    await insertToken(database.pool, { ...made, hash: hashToken(operator) });
    const submit = (id: string) =>
      call('POST /v1/handlers/lane/tasks', { token: limited, body: { tasks: [{ id, payload: { to: 'acme/x' } }] } });
    await call('POST /v1/lanes/acme%2Fx/pause', { token: operator, body: {} });
    expect((await submit('acme/1')).status).toBe(200);
    expect((await call('POST /v1/handlers/jobs/pause', { token: operator, body: {} })).status).toBe(200);
    expect((await call('POST /v1/handlers/jobs/resume', { token: operator, body: {} })).status).toBe(200);
    const { body } = await call('GET /v1/audit?limit=1', { token: operator });
    expect(body.entries).toMatchObject([{ verb: 'resume', subject: 'handler jobs', outcome: 'done', door: 'api' }]);
    await eventually(async () => {
      await call('GET /v1/status', { token: operator });
      return (await readTokens(database.pool)).every(({ usedAt }) => usedAt !== null);
    });
  } finally {
    await api.stop(1_000);
  }
});

/** What a role might do with a table. The lists do not follow from the SQL that grants it. */
type Verb = 'select' | 'insert' | 'update' | 'delete' | 'truncate';

/** Tables that only leaders and workers write. */
const LEASED = [
  'lease',
  'node',
  'partition',
  'chunk',
  'dispatch',
  'submitter',
  'drain',
  'busy_key',
  'fault',
  'cancellation',
];
const OUTCOMES = ['outcome', 'result_page'];
const OWNERS = ['api_token', 'tenant', 'migration', 'installation'];
/** Columns by which a submitter only wakes or sizes; each other column of these is closed. */
const OPEN_COLUMNS: Readonly<Record<string, RegExp>> = {
  leader: /^(state|wake_at|blocked|expires_at|woken_at)$/,
  queuer: /^(state|wake_at|expires_at|woken_at)$/,
  target: /^(due_at|lane_id)$/,
  batch: /^bytes$/,
  held: /^not_before$/,
  lane_batch: /^changed_at$/,
  lane_state: /^ready$/,
  lane: /^(kind|approach|on_invalid|pending_limit|partition)$/,
  recipient: /^used_at$/,
  audit: /^(outcome|answer)$/,
  segment: /^bits$/,
  fanout: /^(segments|items|open_segments|state|sealed_at|completed_at|expired_at|active_at)$/,
  execution: /^(items|n_created|state|resume_at|woken_at|wants_nodes)$/,
  handler: /^(?!(id|name|paused_at|pause_reason|hold_until|created_at|paces|allowed|tokens)$)/,
  unneeded_object: /^due_at$/,
};

const SETTINGS_OF_DATABASE = [
  'create table muster.mine (n int)',
  'create table public.mine (n int)',
  'create schema mine',
  'create or replace function muster.clock() returns timestamptz language sql as $$ select now() $$',
  'create function muster.mine() returns int language sql as $$ select 1 $$',
  'create view muster.mine as select 1 as n',
  'create sequence muster.mine',
  'create type muster.mine as enum ()',
  'create trigger mine before insert on muster.task for each row execute function muster.note_outcomes()',
  'create rule mine as on insert to muster.task do also nothing',
  'create index mine on muster.task (seq)',
  'create policy mine on muster.task using (true)',
  'alter table muster.task disable trigger all',
  'alter table muster.task add column mine int',
  'alter table muster.api_token owner to current_user',
  'alter function muster.clock() owner to current_user',
  'alter schema muster owner to current_user',
  'alter schema muster rename to mine',
  'drop table muster.task',
  'drop function muster.clock() cascade',
  'drop schema muster cascade',
  'drop view muster.task_state cascade',
  "comment on table muster.task is 'mine'",
  'create extension dblink',
  'create publication mine for table muster.task',
];
const SETTINGS_OF_SERVER = [
  'create role mine',
  'create role mine superuser login',
  'alter role current_user superuser',
  'alter role current_user createrole',
  'set session authorization postgres',
  'set role postgres',
  'create database mine',
  "alter system set log_statement = 'all'",
  'select pg_reload_conf()',
  "select pg_read_file('postgresql.conf')",
  "select pg_ls_dir('.')",
  'select rolpassword from pg_authid',
  "copy (select 1) to program 'id'",
  "copy muster.task (id) from '/etc/passwd'",
  "select lo_import('/etc/passwd')",
  "create subscription mine connection '' publication mine",
  'create server mine foreign data wrapper none',
];

/** These run in no transaction. */
const ALONE = /^(create (database|subscription)|alter system)/;

/** Returns what a statement achieved; null: it was refused for want of a right. */
const achieved = async (pool: Pool, text: string): Promise<string | null> => {
  const client = await pool.connect();
  try {
    if (!ALONE.test(text)) await client.query('begin');
    await client.query(text);
    return 'it was done';
  } catch (error) {
    const cause = (error as { cause?: { code?: string } }).cause;
    const code = (error as { code?: string }).code ?? cause?.code ?? '';
    const driver = cause?.code ?? code;
    return REFUSED.has(driver) ? null : `${driver} ${(error as Error).message}`;
  } finally {
    await client.query('rollback');
    client.release();
  }
};
/** Insufficient privilege; a role, wrapper or language that is not there to be used. */
const REFUSED = new Set(['42501', '42704']);

describe('what each role must not do', () => {
  const tally = new Tally('roles of the database');
  let columns: Map<string, string[]>;
  beforeAll(async () => {
    const text = `select c.relname as table, a.attname as column
      from pg_class c join pg_attribute a on a.attrelid = c.oid
      where c.relnamespace = 'muster'::regnamespace and c.relkind = 'r' and a.attnum > 0 and not a.attisdropped`;
    const { rows } = await world.database.pool.query<{ table: string; column: string }>(text);
    columns = new Map();
    for (const { table, column } of rows) columns.set(table, [...(columns.get(table) ?? []), column]);
  });
  const attack = async (role: keyof typeof ROLES, text: string): Promise<void> =>
    tally.add(`${role}: ${text}`, await achieved(world.pools[role], text));
  const statement = (verb: Verb, table: string): string =>
    ({
      select: `select * from muster.${table}`,
      insert: `insert into muster.${table} default values`,
      update: `update muster.${table} set ${columns.get(table)![0]} = default`,
      delete: `delete from muster.${table} where false`,
      truncate: `truncate muster.${table} cascade`,
    })[verb];

  test('a submitter deletes nothing, and writes no lease, outcome, token or setting of the operator', async () => {
    for (const table of columns.keys())
      for (const verb of ['delete', 'truncate'] as const) await attack('submit', statement(verb, table));
    for (const table of [...LEASED, ...OUTCOMES, ...OWNERS, 'idempotency_key', 'queuer', 'leader'])
      if (table !== 'leader') await attack('submit', statement('insert', table));
    for (const table of ['api_token', 'tenant', 'idempotency_key', 'audit'])
      await attack('submit', statement('select', table));
    for (const [table, all] of columns)
      for (const column of all)
        if (OPEN_COLUMNS[table]?.test(column) !== true)
          await attack('submit', `update muster.${table} set ${column} = default where false`);
    await attack('submit', "insert into muster.leader (handler_id, name, epoch) values (1, 'x', 99)");
    await attack('submit', "insert into muster.batch (attempt_by) values ('x')");
    for (const role of [ROLES.owner, ROLES.worker]) await attack('submit', `set role ${role}`);
    for (const text of [...SETTINGS_OF_DATABASE, ...SETTINGS_OF_SERVER]) await attack('submit', text);
    tally.expectNoneThrough(300);
  });

  test('a worker makes no token and no table, and cannot forge the installation or its migrations', async () => {
    for (const table of OWNERS)
      for (const verb of ['insert', 'update', 'delete', 'truncate'] as const)
        await attack('worker', statement(verb, table));
    for (const table of columns.keys()) await attack('worker', statement('truncate', table));
    for (const column of columns.get('audit')!)
      if (OPEN_COLUMNS['audit']!.test(column) !== true)
        await attack('worker', `update muster.audit set ${column} = default where false`);
    await attack('worker', `set role ${ROLES.owner}`);
    for (const text of [...SETTINGS_OF_DATABASE, ...SETTINGS_OF_SERVER]) await attack('worker', text);
    tally.expectNoneThrough(400);
  });

  test('the owner of the tables is no administrator of the server', async () => {
    for (const text of SETTINGS_OF_SERVER) await attack('owner', text);
    tally.expectNoneThrough(420);
  });

  test('no other role enters the schema', async () => {
    const { rows } = await world.database.pool.query<{ public: boolean; owners: string[] }>(`select
      has_schema_privilege('public', 'muster', 'usage') as public,
      array(select distinct tableowner::text from pg_tables where schemaname = 'muster') as owners`);
    expect(rows).toEqual([{ public: false, owners: [ROLES.owner] }]);
  });
});

test('the owner migrates; what was done under the roles is whole', async () => {
  expect(await plannedMigrations(world.urls.owner, 'muster')).toEqual([]);
  const verifier = createClient({ databaseUrl: world.urls.worker, handlers, temporal: { address: '127.0.0.1:1' } });
  await expectWhole(verifier);
  await verifier.close();
});
