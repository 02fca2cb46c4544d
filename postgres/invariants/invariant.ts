import { OVERDUE_CALL_MS, UNANSWERED_MS } from '../../workflows/planning/liveness';

/**
 * What must hold in the store at every instant, as a statement that answers the rows which break
 * it: none, or a bug (or somebody's hand). Static text; at most 20 rows, each naming what a person
 * would look for.
 */
export interface Invariant {
  name: string;
  /** Looks at everything. */
  text: string;
  /**
   * Where that grows with the history or the backlog: how a part of it is looked at. Left out: it
   * reads little, by indexes.
   */
  sample?: Sample;
  /**
   * May be broken for the moment between two commits of a running system (a ring on its way): only
   * rows found twice, `verifyStore` apart, count. Such a statement answers nothing that changes
   * with the time, and in a fixed order.
   */
  passing?: boolean;
}

interface Sample {
  /** The table whose rows are looked at, each with everything that it refers to. */
  of: SampledTable;
  /**
   * The same statement for some windows of its keys: $1 and $2 are their first and last keys, $3
   * the most rows. Null: only as a whole.
   */
  text: string | null;
}

interface Key {
  column: string;
  type: 'bigint' | 'uuid';
  /**
   * What a row stands for where it is not one row: the windows hold about as much of it as rows of
   * other tables.
   */
  weight?: string;
}

/**
 * The tables that may be larger than one look, and the leading column of an index of each: by it
 * the windows are cut.
 */
const SAMPLED = {
  task: { column: 'seq', type: 'bigint' },
  member: { column: 'seq', type: 'bigint' },
  outcome: { column: 'seq', type: 'bigint' },
  queue: { column: 'target_id', type: 'bigint' },
  delayed: { column: 'seq', type: 'bigint' },
  lane_queue: { column: 'seq', type: 'bigint' },
  busy_key: { column: 'seq', type: 'bigint' },
  batch: { column: 'id', type: 'bigint', weight: 'n' },
  result_page: { column: 'batch_id', type: 'bigint' },
  notification: { column: 'id', type: 'bigint' },
  target: { column: 'id', type: 'bigint' },
  leader: { column: 'id', type: 'bigint' },
  lane: { column: 'id', type: 'bigint' },
  submission: { column: 'batch_id', type: 'bigint' },
  dependency: { column: 'batch_id', type: 'bigint' },
  fanout: { column: 'id', type: 'bigint', weight: 'greatest(1, segments)' },
  execution: { column: 'id', type: 'uuid', weight: 'greatest(1, items)' },
  chunk: { column: 'id', type: 'uuid', weight: 'greatest(1, n)' },
  work_item: { column: 'execution_id', type: 'uuid' },
} as const satisfies Record<string, Key>;
export type SampledTable = keyof typeof SAMPLED;

export const keyOf = (table: SampledTable): Key => SAMPLED[table];

/**
 * An invariant of one table's rows: `select` reads them as `looked`, all of them or those of the
 * windows.
 */
export const ofTable = (of: SampledTable, select: string): Pick<Invariant, 'text' | 'sample'> => {
  const { column, type } = keyOf(of);
  const key = `x.${column} between w.a::${type} and w.b::${type}`;
  const windows = `select x.* from unnest($1::text[], $2::text[]) w (a, b) join ${of} x on ${key} limit $3::bigint`;
  return {
    text: `with looked as not materialized (select * from ${of})\n${select.trim()}`,
    sample: { of, text: `with looked as materialized (${windows})\n${select.trim()}` },
  };
};

/** An invariant of a table that no part of it can show. */
export const wholeTable = (of: SampledTable, text: string): Pick<Invariant, 'text' | 'sample'> => ({
  text,
  sample: { of, text: null },
});

/** A ring takes milliseconds, the sweeper comes within 5 s. */
export const GRACE = `interval '5 s'`;
/** Leases are 15 s. */
export const SILENT = `interval '30 s'`;
/** A wake that was not answered for so long, and a call so long past its deadline. */
export const UNANSWERED = `${UNANSWERED_MS} * interval '1 ms'`;
export const OVERDUE = `${OVERDUE_CALL_MS} * interval '1 ms'`;
/**
 * What only a worker can keep up is asked for where one has been alive for a while: with none,
 * waiting is no fault.
 */
export const ATTENDED = `exists (select from node n where not n.draining and n.seen_at > clock() - ${SILENT}
  and n.started_at < clock() - interval '10 s')`;
