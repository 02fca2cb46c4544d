import type { Invariant } from './invariant';
import { ofTable } from './invariant';

/**
 * Identity: ids and places are given once. Checks what indexes and sequences guarantee, without
 * trusting them.
 */

/**
 * Per sequence: its table, the column that it fills, and how many values of the column one number
 * of the sequence stands for.
 */
const SEQUENCES = [
  ['submit_seq', 'task', 'seq', 16_384],
  ['batch_id_seq', 'batch', 'id', 1],
  ['handler_id_seq', 'handler', 'id', 1],
  ['leader_id_seq', 'leader', 'id', 1],
  ['target_id_seq', 'target', 'id', 1],
  ['lane_id_seq', 'lane', 'id', 1],
  ['submitter_no_seq', 'submitter', 'no', 1],
  ['recipient_id_seq', 'recipient', 'id', 1],
  ['notification_id_seq', 'notification', 'id', 1],
  ['ended_dependency_id_seq', 'ended_dependency', 'id', 1],
  ['fanout_id_seq', 'fanout', 'id', 1],
  ['api_token_id_seq', 'api_token', 'id', 1],
] as const;

/** Without any one of these, a task could be accepted, sent or ended twice. */
const UNIQUE_INDEXES = [
  'task_pkey',
  'task_id',
  'queue_pkey',
  'delayed_seq',
  'lane_queue_seq',
  'held_pkey',
  'task_dependency_pkey',
  'member_pkey',
  'outcome_pkey',
  'batch_pkey',
  'busy_key_pkey',
  'target_handler_id_key_key',
  'lane_batch_pkey',
  'lane_batch_open',
  'lane_service_key',
  'lease_pkey',
  'notification_batch_id_attempt_recipient_id_key',
  'notification_fanout',
  'fanout_public_id_key',
  'segment_pkey',
  'chunk_execution',
  'work_item_pkey',
] as const;

/** Groups by an expression that no index has: a broken index would report no duplicates. */
const SAME_ID = `
select min(t.id) as id, array_agg(t.seq order by t.seq) as seqs
from looked t
group by t.id || ''
having count(*) > 1`;
const whole = ofTable('task', `${SAME_ID} order by 1 limit 20`);
/** A sample need not contain a row's duplicate, so only the index can find it. */
const part = ofTable(
  'task',
  `
select x.id, x.seqs
from (${SAME_ID} union select t.id, array[least(t.seq, o.seq), greatest(t.seq, o.seq)] from looked t
  join task o on o.id = t.id and o.seq <> t.seq) x
order by x.id limit 20`,
);

export const identity: readonly Invariant[] = [
  { name: 'an id is of one task', text: whole.text, sample: part.sample! },
  {
    name: 'the unique indexes are there and valid',
    text: `
select n.name as index, i.indisvalid as valid, i.indisready as ready, i.indisunique as "unique"
  from unnest(array['${UNIQUE_INDEXES.join("', '")}']) n (name)
  left join pg_class c on c.relname = n.name and c.relnamespace = current_schema()::regnamespace
    left join pg_index i on i.indexrelid = c.oid
where i.indexrelid is null or not (i.indisvalid and i.indisready and i.indisunique) order by n.name limit 20`,
  },
  {
    // A sequence never goes back with a transaction: each value in a table was drawn before.
    name: 'a sequence is not behind its table',
    text: `
select x.sequence, x.at, x.highest
from (
  ${SEQUENCES.map(
    ([name, table, column, each]) => `  select '${name}' as sequence,
    (select case when is_called then last_value else last_value - 1 end from ${name}) as at,
    (select max(${column}) / ${each} from ${table}) as highest`,
  ).join(' union all\n')}) x
where x.highest > x.at
order by x.sequence limit 20`,
  },
];
