import type { Queryable } from '../pool';

/**
 * How a task ended, and where the downstream's value for it is: for callbacks and for workflows
 * that wait.
 */
export interface StoredEnd {
  id: string;
  /** Its number in `TASK_STATES`. */
  state: number;
  error: string | null;
  /**
   * Result as JSON text, set by hand or stored with the task because its end differs from its
   * batch's.
   */
  result: string | null;
  /**
   * Where the downstream's value is, if it gave one: in the pages of this batch's last attempt.
   * Places count from 0.
   */
  batchId: number | null;
  attempt: number | null;
  place: number | null;
}

/** Returns those of the ids that exist, ended or not. */
export const readTaskEnds = async (db: Queryable, ids: readonly string[]): Promise<StoredEnd[]> => {
  const { rows } = await db.query<StoredEnd>({
    name: 'read-task-ends',
    text: `
with s as materialized (select * from task_state where id = any($1::text[])),
placed as materialized (
  select x.batch_id, u.seq, (u.place - 1)::int as place
  from (select distinct batch_id from s where batch_id is not null) x join batch b on b.id = x.batch_id
  cross join lateral unnest(b.members) with ordinality u (seq, place) join s on s.seq = u.seq
    and s.batch_id = x.batch_id)
select s.id, case when s.state = 3 /* unknown */ and b.state = 1 /* open */ then 2::smallint /* in-progress */
  else s.state end as state, case when o.seq is null then b.error else o.error end as error, o.result::text as result,
  case when b.state >= 4 /* ended */ and (o.seq is null or o.state = 5 /* failed */) then b.id end as "batchId",
    b.attempt, p.place
from s left join outcome o on o.seq = s.seq left join batch b on b.id = s.batch_id
left join placed p on p.batch_id = s.batch_id and p.seq = s.seq`,
    values: [ids],
  });
  return rows;
};

export interface StoredValue {
  batchId: number;
  place: number;
  /** JSON text. */
  value: string;
  /** Which part of the value could not be kept; null: nothing is missing. */
  note: string | null;
}

/**
 * Returns the values at these places, until they are `maxBytes` of JSON in all; null: there are
 * more than that. Reads page by page, so that a few tasks of a large batch cost a few pages, never
 * the whole answer at once.
 */
export const readValues = async (
  db: Queryable,
  places: readonly { batchId: number; attempt: number; place: number }[],
  maxBytes: number,
): Promise<StoredValue[] | null> => {
  const wanted = new Map<string, Set<number>>();
  for (const { batchId, attempt, place } of places) {
    const key = `${batchId}/${attempt}`;
    const set = wanted.get(key);
    if (set === undefined) wanted.set(key, new Set([place]));
    else set.add(place);
  }
  const values: StoredValue[] = [];
  let bytes = 0;
  for (const [key, set] of wanted) {
    const [batchId, attempt] = key.split('/').map(Number) as [number, number];
    for (const page of await findPages(db, batchId, attempt, [...set])) {
      for (const { place, value, note } of await readPage(db, batchId, attempt, page, [...set])) {
        bytes += Buffer.byteLength(value);
        if (bytes > maxBytes) return null;
        values.push({ batchId, place, value, note });
      }
    }
  }
  return values;
};

const findPages = async (
  db: Queryable,
  batchId: number,
  attempt: number,
  places: readonly number[],
): Promise<number[]> => {
  const { rows } = await db.query<{ no: number }>({
    name: 'find-result-pages',
    text: `
select p.no
from result_page p
where p.batch_id = $1 and p.attempt = $2
  and exists (select from unnest($3::int[]) w (place) where w.place between p.first and p.last)
order by p.no`,
    values: [batchId, attempt, places],
  });
  return rows.map((row) => row.no);
};

const readPage = async (
  db: Queryable,
  batchId: number,
  attempt: number,
  no: number,
  places: readonly number[],
): Promise<Omit<StoredValue, 'batchId'>[]> => {
  const { rows } = await db.query<Omit<StoredValue, 'batchId'>>({
    name: 'read-result-page',
    text: `
select (e.entry->>0)::int as place, (e.entry->1)::text as value, e.entry->>2 as note
from result_page p cross join lateral json_array_elements(p.results) e (entry)
where p.batch_id = $1 and p.attempt = $2 and p.no = $3 and (e.entry->>0)::int = any($4::int[])`,
    values: [batchId, attempt, no, places],
  });
  return rows;
};

/**
 * Returns those of the tasks whose end is reported to another workflow or webhook than this
 * workflow, or is not reported.
 */
export const findForeign = async (db: Queryable, ids: readonly string[], workflowId: string): Promise<string[]> => {
  const { rows } = await db.query<{ id: string }>({
    name: 'find-foreign-tasks',
    text: `
select k.id
from task k left join recipient i on i.id = k.recipient_id
where k.id = any($1::text[]) and i.address is distinct from jsonb_build_object('workflowId', $2::text)`,
    values: [ids, workflowId],
  });
  return rows.map((row) => row.id);
};
