import type { Queryable } from '../pool';

/** Statements about what calls and tasks came to, per handler and minute: statistics, no facts. */

/** Counts of one process, in the order of the tables in `planning/outcomes/kinds`. */
export interface NewOutcomes {
  handler: string;
  calls: number[];
  ends: number[];
  latency: number[];
  sizes: number[];
  /** By `FLUSH_REASONS`. */
  reasons: number[];
  /** Of the calls. */
  tasks: number;
  call_ms: number;
}

/** Adds counts to the rows of this minute, which all processes share: in the order of handlers. */
export const addOutcomes = async (db: Queryable, rows: readonly NewOutcomes[]): Promise<void> => {
  await db.query({
    name: 'add-outcomes',
    text: `
insert into outcome_minute as m (handler_id, minute, calls, ends, latency, sizes, reasons, tasks, call_ms)
select h.id, date_trunc('minute', clock()), n.calls, n.ends, n.latency, n.sizes, n.reasons, n.tasks, n.call_ms
from json_to_recordset($1) n (handler text, calls bigint[], ends bigint[], latency bigint[], sizes bigint[],
  reasons bigint[], tasks bigint, call_ms float8) join handler h on h.name = n.handler
order by h.id
on conflict (minute, handler_id) do update set calls = add_counts(m.calls, excluded.calls),
  ends = add_counts(m.ends, excluded.ends), latency = add_counts(m.latency, excluded.latency),
  sizes = add_counts(m.sizes, excluded.sizes), reasons = add_counts(m.reasons, excluded.reasons),
  tasks = m.tasks + excluded.tasks, call_ms = m.call_ms + excluded.call_ms`,
    values: [JSON.stringify(rows)],
  });
};

export interface OutcomeRow {
  handler: string;
  handlerId: number;
  minute: Date;
  calls: number[];
  ends: number[];
  latency: number[];
  sizes: number[];
  reasons: number[];
  tasks: number;
  callMs: number;
}

export interface OutcomeScope {
  /** Null: all handlers. */
  handlerId: number | null;
  since: Date;
  until: Date;
}

/** Returns a page, the newest minute first, before this minute and handler. */
export const readOutcomes = async (
  db: Queryable,
  { handlerId, since, until }: OutcomeScope,
  before: { minuteMs: number; handlerId: number },
  limit: number,
): Promise<OutcomeRow[]> => {
  const { rows } = await db.query<OutcomeRow>({
    name: 'read-outcomes',
    text: `
select h.name as handler, m.handler_id as "handlerId", m.minute, m.calls, m.ends, m.latency, m.sizes, m.reasons,
  m.tasks, m.call_ms as "callMs"
from outcome_minute m join handler h on h.id = m.handler_id
where ($1::int is null or m.handler_id = $1) and m.minute >= date_trunc('minute', $2::timestamptz) and m.minute <= $3
  and (m.minute, m.handler_id) < (timestamptz 'epoch' + $4::float8 * interval '1 ms', $5::int)
order by m.minute desc, m.handler_id desc limit $6`,
    values: [handlerId, since, until, before.minuteMs, before.handlerId, limit],
  });
  return rows;
};

/** Deletes some of the oldest rows that are older than is kept; returns how many. */
export const deleteOldOutcomes = async (db: Queryable, keepMs: number, limit: number): Promise<number> => {
  const { rowCount } = await db.query({
    name: 'delete-old-outcomes',
    text: `
delete from outcome_minute
where (minute, handler_id) in (
  select m.minute, m.handler_id
  from outcome_minute m
  where m.minute < clock() - $1 * interval '1 ms'
  order by m.minute limit $2)`,
    values: [keepMs, limit],
  });
  return rowCount ?? 0;
};
