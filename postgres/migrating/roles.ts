import { SCHEMA_PATTERN } from '../pool';

/**
 * The database roles of an installation that does not run everything as one user. They cannot log
 * in; login users are made members of them.
 */
export const ROLES = {
  /** Owns the tables and migrates them. */
  owner: 'muster_owner',
  /** Of workers and of the HTTP API: reads and writes work, never tokens or tables. */
  worker: 'muster_worker',
  /** Of clients: submits, follows, and wakes; never decides what was sent or is leased. */
  submit: 'muster_submit',
} as const;

/** Settings of a handler, which each client that submits brings along; not whether it is paused. */
const HANDLER_SETTINGS = [
  ...['leaders', 'max_items', 'max_bytes', 'overhead_bytes', 'max_weight', 'min_items', 'linger_ms', 'quiet_ms'],
  ...['per_target', 'per_handler', 'weight_per_target', 'weight_per_handler', 'rates', 'keyed', 'queued_per_target'],
  ...['queued_per_handler', 'retention_ms', 'timeout_ms', 'partitions', 'needs', 'cancels', 'hands_dependencies'],
  ...['defined', 'ordered', 'max_payload_bytes', 'coalesces'],
];
const TASK = 'seq, created_at, target_id, bytes, priority, recipient_id, weight, id, key, payload, version, trace';
const BATCH = 'id, target_id, leader_id, epoch, turn, reason, n, members, bytes, weight, created_at';
const LANE_BATCH = 'batch_id, lane_id, target_id, handler_id, seq, changed_at, weight, reads, writes';
const QUEUED = 'seq, target_id, ready_at, bytes, weight, key';
const EXECUTION = 'id, function_id, method, config, topic, max_attempts, resume_at, created_at, tenant';
const FANOUT = 'public_id, user_key, segment_size, recipient_id, opened_at, active_at, tenant';

/**
 * What a submitter may write, by table and column: what the statements of a client name. It reads
 * all that is not `HIDDEN`.
 */
const WRITES: readonly (readonly [table: string, rights: string])[] = [
  ['task', `insert (${TASK})`],
  ['queue', `insert (priority, ${QUEUED})`],
  ['delayed', 'insert (target_id, priority, seq, not_before, bytes, weight, key)'],
  ['held', 'insert, update (not_before)'],
  ['expiry', 'insert (seq, at)'],
  ['task_label', 'insert'],
  ['task_tag', 'insert'],
  ['task_dependency', 'insert (seq, needs, place, run, needs_id)'],
  ['ended_dependency', 'insert (seq, state)'],
  ['lane_queue', `insert (lane_id, ${QUEUED}, reads, writes)`],
  ['recipient', 'insert (kind, address, used_at), update (used_at)'],
  ['handler', `insert (name, ${HANDLER_SETTINGS.join(', ')}), update (${HANDLER_SETTINGS.join(', ')})`],
  ['target', 'insert (handler_id, key, leader_id), update (due_at, lane_id)'],
  ['leader', 'insert (handler_id, name), update (state, wake_at, blocked, expires_at, woken_at)'],
  [
    'lane',
    'insert (service, handler_id, kind, approach, on_invalid, pending_limit), ' +
      'update (kind, approach, on_invalid, pending_limit, partition)',
  ],
  ['lane_state', 'insert (lane_id, queuer_id, served), update (ready)'],
  ['lane_batch', `insert (${LANE_BATCH}), update (changed_at)`],
  ['batch', `insert (${BATCH}), update (bytes)`],
  ['member', 'insert'],
  ['dependency', 'insert (batch_id, needs)'],
  ['queuer', 'update (state, wake_at, expires_at, woken_at)'],
  ['execution', `insert (${EXECUTION}), update (items, n_created, state, resume_at, woken_at, wants_nodes)`],
  ['work_item', 'insert (execution_id, position, content_id, copy, arguments)'],
  [
    'fanout',
    `insert (${FANOUT}), ` +
      'update (segments, items, open_segments, state, sealed_at, completed_at, expired_at, active_at)',
  ],
  ['fanout_add', 'insert'],
  ['segment', 'insert, update (bits)'],
  ['notification', 'insert (fanout_id, recipient_id, body, next_at)'],
  ['unneeded_object', 'insert (key, due_at), update (due_at)'],
  ['audit', 'select (id), insert (who, door, origin, verb, subject, detail), update (outcome, answer)'],
];

/** No tokens, tenants and keys of the HTTP API, and not what others did. */
const HIDDEN = ['api_token', 'tenant', 'idempotency_key', 'audit'];
/** Who may call the HTTP API, which its own role does not decide. */
const KEPT = ['api_token', 'tenant'];
/** Readable, never written but by the owner. */
const FIXED = ['migration', 'installation'];

/**
 * Returns SQL that makes the roles and grants them what they need on the tables as they are now;
 * safe to run again, and to be run again after each migration. To be run by a superuser, or by the
 * owner of the database with CREATEROLE.
 */
export const rolesSql = (schema: string): string => {
  if (!SCHEMA_PATTERN.test(schema))
    throw new Error(`schema: expected a name like "muster", got ${JSON.stringify(schema)}`);
  const { owner, worker, submit } = ROLES;
  const of = (table: string): string => `"${schema}"."${table}"`;
  return `${[
    `-- Roles of Muster on the schema "${schema}". Run it after each "muster migrate"; it may be repeated.`,
    'begin;',
    ...Object.values(ROLES).map(makeRole),
    `do $$ begin execute format('grant create on database %I to ${owner}', current_database()); end $$;`,
    ownAll(schema, owner),
    `revoke all on schema "${schema}" from public;`,
    `revoke all on all tables in schema "${schema}" from public, ${worker}, ${submit};`,
    `revoke all on all sequences in schema "${schema}" from public, ${worker}, ${submit};`,
    `revoke all on all functions in schema "${schema}" from public, ${worker}, ${submit};`,
    `grant usage on schema "${schema}" to ${worker}, ${submit};`,
    `grant execute on all functions in schema "${schema}" to ${worker}, ${submit};`,
    `grant usage, select on all sequences in schema "${schema}" to ${worker}, ${submit};`,
    `grant select, insert, update, delete on all tables in schema "${schema}" to ${worker};`,
    `grant select on all tables in schema "${schema}" to ${submit};`,
    ...FIXED.map((table) => `revoke insert, update, delete on ${of(table)} from ${worker};`),
    ...KEPT.map((table) => `revoke insert, update, delete on ${of(table)} from ${worker};`),
    `grant update (used_at) on ${of('api_token')} to ${worker};`,
    `revoke update on ${of('audit')} from ${worker};`,
    `grant update (outcome, answer) on ${of('audit')} to ${worker};`,
    ...HIDDEN.map((table) => `revoke select on ${of(table)} from ${submit};`),
    ...WRITES.map(([table, rights]) => `grant ${rights} on ${of(table)} to ${submit};`),
    'commit;',
  ].join('\n')}\n`;
};

const makeRole = (name: string): string =>
  `do $$ begin if to_regrole('${name}') is null then create role ${name} nologin; end if; end $$;`;

/**
 * Gives what is in the schema to the owner: another role may have migrated first. What it has
 * already is left alone, since work goes on there.
 */
const ownAll = (schema: string, owner: string): string => `do $$ declare one record; begin
  execute format('alter schema %I owner to ${owner}', '${schema}');
  for one in select c.oid::regclass as name, c.relkind from pg_class c
    where c.relnamespace = '"${schema}"'::regnamespace and c.relkind in ('r', 'v', 'S', 'p')
      and c.relowner <> '${owner}'::regrole
      and not exists (select from pg_depend d where d.objid = c.oid and d.deptype in ('a', 'i') and c.relkind = 'S')
  loop
    execute format('alter %s %s owner to ${owner}',
      case one.relkind when 'v' then 'view' when 'S' then 'sequence' else 'table' end, one.name);
  end loop;
  for one in select p.oid::regprocedure as name from pg_proc p where p.pronamespace = '"${schema}"'::regnamespace
    and p.proowner <> '${owner}'::regrole
  loop
    execute format('alter function %s owner to ${owner}', one.name);
  end loop;
end $$;`;
