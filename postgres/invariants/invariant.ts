import { lostBy } from '../sweeper/attended';
import { OVERDUE_CALL_MS, UNANSWERED_MS } from '../../workflows/planning/liveness';

/**
 * A condition that must hold in the store at every instant, as a statement that returns the rows
 * that break it: any row is a bug or a manual edit. Static text; at most 20 rows, each naming what
 * an operator would look for.
 */
export interface Invariant {
  name: string;
  /** Checks everything. */
  text: string;
  /**
   * How a part is checked, where checking everything grows with the history or the backlog. Left
   * out: it reads little, by indexes.
   */
  sample?: Sample;
  /**
   * May be broken between two commits of a running system (a ring is still to come): only rows
   * found twice, `verifyStore` apart, count. The rows of such a statement contain nothing that
   * changes with time, and come in a fixed order.
   */
  passing?: boolean;
}

interface Sample {
  /** The table whose rows are checked, each with everything that it refers to. */
  of: SampledTable;
  /**
   * The same statement for some windows of its keys: $1 and $2 are their first and last keys, $3
   * the most rows. Null: it can only be checked as a whole.
   */
  text: string | null;
}

interface Key {
  column: string;
  type: 'bigint' | 'uuid';
  /**
   * What a row weighs where it stands for more than one: windows hold about as much weight as
   * windows of other tables have rows.
   */
  weight?: string;
}

/**
 * Tables that may be too large to check at once, and the leading column of an index of each, which
 * defines the windows.
 */
const SAMPLED = {
  task: { column: 'seq', type: 'bigint' },
  member: { column: 'seq', type: 'bigint' },
  outcome: { column: 'seq', type: 'bigint' },
  queue: { column: 'target_id', type: 'bigint' },
  delayed: { column: 'seq', type: 'bigint' },
  lane_queue: { column: 'seq', type: 'bigint' },
  held: { column: 'seq', type: 'bigint' },
  task_dependency: { column: 'seq', type: 'bigint' },
  busy_key: { column: 'seq', type: 'bigint' },
  task_label: { column: 'seq', type: 'bigint' },
  batch: { column: 'id', type: 'bigint', weight: 'n' },
  result_page: { column: 'batch_id', type: 'bigint' },
  notification: { column: 'id', type: 'bigint' },
  target: { column: 'id', type: 'bigint' },
  leader: { column: 'id', type: 'bigint' },
  lane: { column: 'id', type: 'bigint' },
  lane_batch: { column: 'batch_id', type: 'bigint' },
  dependency: { column: 'batch_id', type: 'bigint' },
  fanout: { column: 'id', type: 'bigint', weight: 'greatest(1, segments)' },
  execution: { column: 'id', type: 'uuid', weight: 'greatest(1, items)' },
  chunk: { column: 'id', type: 'uuid', weight: 'greatest(1, n)' },
  work_item: { column: 'execution_id', type: 'uuid' },
} as const satisfies Record<string, Key>;
export type SampledTable = keyof typeof SAMPLED;

export const keyOf = (table: SampledTable): Key => SAMPLED[table];

/**
 * Returns an invariant of one table's rows: `select` reads them as `looked`, all of them or those
 * of the windows.
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

/** Returns an invariant of a table that can only be checked as a whole. */
export const wholeTable = (of: SampledTable, text: string): Pick<Invariant, 'text' | 'sample'> => ({
  text,
  sample: { of, text: null },
});

/** A ring takes milliseconds, and the sweeper repeats it within 5 s. */
export const GRACE = `interval '5 s'`;
/** Silence after which a leader or dispatch counts as dead: leases are 15 s. */
export const SILENT = `interval '30 s'`;
/** Age at which an unanswered wake, or a call past its deadline, counts as stuck. */
export const UNANSWERED = `${UNANSWERED_MS} * interval '1 ms'`;
export const OVERDUE = `${OVERDUE_CALL_MS} * interval '1 ms'`;
/**
 * A worker has been alive for a while, or all have been lost: what only a worker can keep up is
 * checked only then, since where all have stopped waiting is no fault.
 */
export const ATTENDED = `(exists (select from node n where not n.draining and n.seen_at > clock() - ${SILENT}
  and n.started_at < clock() - interval '10 s') or ${lostBy()})`;
