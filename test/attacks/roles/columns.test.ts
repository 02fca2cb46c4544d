import { defineHandler } from '../../../handlers';
import { registerHandler } from '../../../postgres/grouping/handler';
import { registerTargets } from '../../../postgres/grouping/target';
import { ROLES, rolesSql } from '../../../postgres/migrating/roles';
import { concludeAudit, insertAudit, readAudit } from '../../../postgres/operations/audit';
import type { Client } from '../../../postgres/pool';
import type { TestDatabase } from '../../helpers/database';
import { createDatabase } from '../../helpers/database';
import { Tally } from '../tally';

/** What `muster_submit` may write, column by column; and what it must not decide for others. */

const jobs = defineHandler<{ to: string }>({
  name: 'jobs',
  target: ({ to }) => to,
  limits: { maxItems: 1 },
  linger: { lingerMs: 1 },
  submit: async () => ({ results: [] }),
});

/** Settings of a handler, which each client that submits brings along. */
const SETTINGS =
  'cancels coalesces defined hands_dependencies keyed leaders linger_ms max_bytes max_items ' +
  'max_payload_bytes max_weight min_items needs ordered overhead_bytes partitions per_handler ' +
  'per_target queued_per_handler queued_per_target quiet_ms rates retention_ms timeout_ms ' +
  'weight_per_handler weight_per_target';

/**
 * What may be inserted and updated, by table; of a table that is not here, nothing. The list does
 * not follow from the SQL that grants it. Whoever adds a column decides here what a submitter that
 * writes it by hand could do to the work of others.
 */
const WRITABLE: Readonly<Record<string, readonly [inserts: string, updates: string]>> = {
  audit: ['detail door origin subject verb who', 'answer outcome'],
  batch: ['bytes created_at epoch id leader_id members n reason target_id turn weight', 'bytes'],
  delayed: ['bytes key not_before priority seq target_id weight', ''],
  dependency: ['batch_id needs', ''],
  ended_dependency: ['seq state', ''],
  execution: [
    'config created_at function_id id max_attempts method resume_at tenant topic',
    'items n_created resume_at state wants_nodes woken_at',
  ],
  expiry: ['at seq', ''],
  fanout: [
    'active_at opened_at public_id recipient_id segment_size tenant user_key',
    'active_at completed_at expired_at items open_segments sealed_at segments state',
  ],
  fanout_add: ['fanout_id first items key', ''],
  handler: [SETTINGS.replace('min_items ', 'min_items name '), SETTINGS],
  held: ['not_before seq target_id', 'not_before'],
  lane: [
    'approach handler_id kind on_invalid pending_limit service',
    'approach kind on_invalid partition pending_limit',
  ],
  lane_batch: ['batch_id changed_at handler_id lane_id reads seq target_id weight writes', 'changed_at'],
  lane_queue: ['bytes key lane_id reads ready_at seq target_id weight writes', ''],
  lane_state: ['lane_id queuer_id served', 'ready'],
  leader: ['handler_id name', 'blocked expires_at state wake_at woken_at'],
  member: ['attempts batch_id seq', ''],
  notification: ['body fanout_id next_at recipient_id', ''],
  queue: ['bytes key priority ready_at seq target_id weight', ''],
  queuer: ['', 'expires_at state wake_at woken_at'],
  recipient: ['address kind used_at', 'used_at'],
  segment: ['bits fanout_id no size', 'bits'],
  target: ['handler_id key leader_id', 'due_at lane_id'],
  task: ['bytes created_at id key payload priority recipient_id seq target_id trace version weight', ''],
  task_dependency: ['needs needs_id place run seq', ''],
  task_label: ['handler_id metadata seq tags', ''],
  task_tag: ['handler_id seq tag', ''],
  unneeded_object: ['due_at key', 'due_at'],
  work_item: ['arguments content_id copy execution_id position', ''],
};

const tally = new Tally('the audit, as a submitter');
let database: TestDatabase;
let submitter: Client;
beforeAll(async () => {
  database = await createDatabase();
  await database.pool.query({ text: rolesSql('muster') });
  await registerHandler(database.pool, jobs);
  submitter = await database.pool.connect();
  await submitter.query(`set role ${ROLES.submit}`);
});
afterAll(async () => {
  submitter.release(true);
  await database.drop();
});

test('the columns that a submitter may insert and update are these, and no others', async () => {
  const { rows } = await database.pool.query<{ table: string; inserts: string; updates: string }>(
    `
select c.relname as table,
  coalesce(string_agg(a.attname, ' ' order by a.attname) filter (
    where has_column_privilege($1, c.oid, a.attnum, 'insert')), '') as inserts,
  coalesce(string_agg(a.attname, ' ' order by a.attname) filter (
    where has_column_privilege($1, c.oid, a.attnum, 'update')), '') as updates
from pg_class c join pg_attribute a on a.attrelid = c.oid
where c.relnamespace = 'muster'::regnamespace and c.relkind = 'r' and a.attnum > 0 and not a.attisdropped
group by c.relname
having bool_or(has_column_privilege($1, c.oid, a.attnum, 'insert, update'))
order by c.relname`,
    [ROLES.submit],
  );
  expect(Object.fromEntries(rows.map((row) => [row.table, [row.inserts, row.updates]]))).toEqual(WRITABLE);
});

test('a submitter marks no target as unused, and takes the mark away by a look-up', async () => {
  const [target] = await registerTargets(submitter, 1, ['a'], ['0']);
  for (const text of [
    `update target set unused_at = now() - interval '9 days'`,
    `insert into target (handler_id, key, leader_id, unused_at) select 1, 'b', leader_id, '2000-01-01' from target`,
    `insert into target (handler_id, key, leader_id, paused) select 1, 'b', leader_id, true from target`,
    'update task set bytes = 0',
  ])
    await expect(submitter.query(text)).rejects.toMatchObject({ code: '42501' });
  await database.pool.query('update target set unused_at = now()');
  expect(await registerTargets(submitter, 1, ['a'], ['0'])).toMatchObject([{ id: target!.id, key: 'a' }]);
  const { rows } = await database.pool.query('select unused_at from target');
  expect(rows).toEqual([{ unused_at: null }]);
});

test('a submitter concludes no change of another, and writes none in the name of another door', async () => {
  const { pool } = database;
  const entry = { verb: 'pause', subject: 'handler jobs', detail: '{}' };
  const ofApi = { ...entry, who: 'token 1 (operate)', door: 'api', origin: '10.0.0.1' } as const;
  const open = [
    await insertAudit(pool, ofApi),
    await insertAudit(pool, { ...entry, who: 'ada@ops', door: 'cli', origin: null }),
    await insertAudit(pool, { ...entry, who: 'app@web', door: 'client', origin: 'database user another' }),
  ];
  const outcomes = async () => (await pool.query('select id, outcome from audit order by id')).rows;
  const before = await outcomes();
  for (const where of [...open.map((id) => `id = ${id}`), 'true', 'id > 0'])
    for (const set of [`outcome = 'done'`, `outcome = 'FORGED', answer = '{}'`, 'outcome = null']) {
      const text = `update audit set ${set} where ${where}`;
      const said = await submitter.query(text).then(({ rowCount }) => `written: ${rowCount}`, String);
      tally.add(text, /another user wrote|Cannot change/.test(said) ? null : said);
    }
  for (const forged of [ofApi, { ...ofApi, origin: null }, { ...ofApi, door: 'mcp' } as const]) {
    const said = await insertAudit(submitter, forged).then(() => 'written', String);
    tally.add(`an entry of ${forged.door}, ${forged.origin}`, /as the API/.test(said) ? null : said);
  }
  const [{ user }] = (await submitter.query('select session_user as user')).rows as [{ user: string }];
  for (const forged of [
    { ...ofApi, door: 'cli' } as const,
    { ...entry, who: 'ada@ops', door: 'cli', origin: null } as const,
  ]) {
    const id = await insertAudit(submitter, forged);
    const [{ origin }] = (await pool.query(`select origin from audit where id = ${id}`)).rows as [{ origin: string }];
    tally.add(`an entry from ${forged.origin}`, origin === `database user ${user}` ? null : origin);
  }
  expect((await outcomes()).slice(0, before.length)).toEqual(before);
  const own = await insertAudit(submitter, { ...entry, who: 'app@web', door: 'client', origin: null });
  await concludeAudit(submitter, own, { outcome: 'NOT_FOUND', answer: null });
  expect(await readAudit(pool, { before: null, limit: 1, who: null, subject: null })).toMatchObject([
    { id: own, origin: `database user ${user}`, outcome: 'NOT_FOUND' },
  ]);
  const worker = await pool.connect();
  try {
    await worker.query(`set role ${ROLES.worker}`);
    for (const id of [...open, await insertAudit(worker, ofApi)])
      await concludeAudit(worker, id, { outcome: 'done', answer: null });
  } finally {
    worker.release(true);
  }
  expect((await outcomes()).filter(({ outcome }) => outcome === 'done')).toHaveLength(4);
  tally.expectNoneThrough(20);
});

test('no role moves the clock: not by a setting, and so deletes no entry of the audit', async () => {
  const worker = await database.pool.connect();
  try {
    await worker.query(`set role ${ROLES.worker}`);
    await worker.query(`insert into audit (who, door, verb, subject) values ('w', 'client', 'pause', 'handler jobs')`);
    for (const session of [worker, submitter]) {
      await session.query(`set muster.clock = '400 days'`);
      expect((await session.query('select clock() = statement_timestamp() as same')).rows).toEqual([{ same: true }]);
    }
    await expect(worker.query('delete from audit')).rejects.toThrow('Cannot delete an entry of the audit');
  } finally {
    worker.release(true);
  }
});
