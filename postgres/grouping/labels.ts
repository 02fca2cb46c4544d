import type { Queryable } from '../pool';

/** What a caller calls a task, beside its id. */
export interface Labels {
  /** Different tags, in the order in which they were given. */
  tags: readonly string[];
  /** JSON text of an object of texts; null: none. */
  metadata: string | null;
}

/** Bytes of a task's labels, in a statement where `l` is its row of `task_label`, if it has one. */
export const BYTES_OF_LABELS = `coalesce(octet_length(array_to_string(l.tags, '')), 0)
    + coalesce(octet_length(l.metadata::text), 0)`;

/**
 * Writes down the labels of tasks, in the transaction that inserts them: where none of them has
 * any, no statement runs.
 */
export const insertLabels = async (
  db: Queryable,
  tasks: readonly { id: string; labels: Labels | null }[],
): Promise<void> => {
  const labelled = tasks.flatMap(({ id, labels }) => (labels === null ? [] : [{ id, ...labels }]));
  if (labelled.length === 0) return;
  await db.query({
    name: 'insert-labels',
    text: `
with labelled as (
  insert into task_label (seq, handler_id, tags, metadata)
  select k.seq, t.handler_id, array(select json_array_elements_text(l.tags::json)), l.metadata::json
  from unnest($1::text[], $2::text[], $3::text[]) l (id, tags, metadata) join task k on k.id = l.id
    join target t on t.id = k.target_id
  on conflict (seq) do nothing
  returning seq, handler_id, tags)
insert into task_tag (tag, handler_id, seq)
select u.tag, l.handler_id, l.seq
from labelled l cross join lateral unnest(l.tags) u (tag)`,
    values: [
      labelled.map(({ id }) => id),
      labelled.map(({ tags }) => JSON.stringify(tags)),
      labelled.map(({ metadata }) => metadata),
    ],
  });
};
