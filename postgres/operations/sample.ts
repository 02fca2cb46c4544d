import { randomUUID } from 'node:crypto';
import type { SampledTable } from '../invariants/invariant';
import { keyOf } from '../invariants/invariant';
import type { Queryable } from '../pool';

/** A part of a table to check: ranges of its keys. */
export interface Windows {
  table: SampledTable;
  /** First and last keys, as text. */
  from: string[];
  to: string[];
  /**
   * Number of rows in the windows and in the table (estimated by Postgres, unless the windows hold
   * all of them).
   */
  rows: number;
  of: number;
  isWhole: boolean;
}

/** Number of random windows besides the newest rows, in which most faults are found first. */
const PLACES = 4;

/** Makes every plan use indexes: what it reads grows with the windows, not with the tables. */
export const ONLY_BY_INDEX = `select set_config('enable_seqscan', 'off', true), set_config('enable_hashjoin', 'off',
  true), set_config('enable_mergejoin', 'off', true), set_config('random_page_cost', '1.1', true), set_config('jit',
  'off', true)`;

/**
 * Cuts windows of about `rows` rows of a table: half of them the newest, half in random places,
 * another part each time. All rows, if there are no more.
 */
export const cutWindows = async (db: Queryable, table: SampledTable, rows: number): Promise<Windows> => {
  const { column, type, weight } = keyOf(table);
  const counted = await weighUpTo(db, table, rows);
  if (counted <= rows) return { table, from: [], to: [], rows: counted, of: counted, isWhole: true };
  const { least, most, of } = await extent(db, table);
  const ranges: Range[] = type === 'bigint' ? [await newest(db, table, Math.ceil(rows / 2))] : [];
  const each = Math.ceil(rows / 2 / PLACES);
  for (let i = 0; i < PLACES; i++) {
    const start =
      type === 'uuid'
        ? randomUUID()
        : String(Number(least) + Math.floor(Math.random() * (Number(most) - Number(least))));
    const next = await following(db, { table, column, type, weight: weight ?? '1', start, rows: each });
    if (next !== null) ranges.push(next);
  }
  const apart = ranges.filter((one, i) => !ranges.slice(0, i).some((other) => meet(one, other, type)));
  const found = apart.reduce((sum, range) => sum + range.n, 0);
  return {
    table,
    from: apart.map(({ a }) => a),
    to: apart.map(({ b }) => b),
    rows: found,
    of: Math.max(of, found),
    isWhole: false,
  };
};

interface Range {
  a: string;
  b: string;
  n: number;
}

const meet = (one: Range, other: Range, type: 'bigint' | 'uuid'): boolean =>
  type === 'uuid'
    ? one.a <= other.b && other.a <= one.b
    : Number(one.a) <= Number(other.b) && Number(other.a) <= Number(one.b);

/** Counts rows, up to one more than `most`. */
export const countUpTo = async (db: Queryable, rowsOf: string, most: number): Promise<number> => {
  const { rows } = await db.query<{ n: number }>({
    text: `select count(*)::float8 as n from (select from ${rowsOf} limit $1::bigint + 1) x`,
    values: [most],
  });
  return rows[0]!.n;
};

/** Weighs rows up to one more than `most`, each by what it stands for. */
const weighUpTo = async (db: Queryable, table: SampledTable, most: number): Promise<number> => {
  const { weight } = keyOf(table);
  if (weight === undefined) return countUpTo(db, table, most);
  const { rows } = await db.query<{ n: number }>({
    text: `select coalesce(sum(w), 0)::float8 as n from (select ${weight} as w from ${table} limit $1::bigint + 1) x`,
    values: [most],
  });
  return rows[0]!.n;
};

const extent = async (db: Queryable, table: SampledTable): Promise<{ least: string; most: string; of: number }> => {
  const { column } = keyOf(table);
  const { rows } = await db.query<{ least: string; most: string }>({
    text: `
select (select x.${column} from ${table} x order by x.${column} limit 1)::text as least, (select x.${column}
  from ${table} x order by x.${column} desc limit 1)::text as most`,
  });
  return { ...rows[0]!, of: await estimateRows(db, table) };
};

/**
 * Returns the planner's estimate: the rows of the last ANALYZE, scaled to the table's present size.
 */
export const estimateRows = async (db: Queryable, table: string): Promise<number> => {
  const { rows } = await db.query<{ 'QUERY PLAN': [{ Plan: { 'Plan Rows': number } }] }>({
    text: `explain (format json) select from ${table}`,
  });
  return rows[0]!['QUERY PLAN'][0].Plan['Plan Rows'];
};

const newest = async (db: Queryable, table: SampledTable, most: number): Promise<Range> => {
  const { column, weight } = keyOf(table);
  return first(
    await db.query<Range>({
      text: windowText(table, column, `order by ${column} desc`, weight ?? '1'),
      values: [most],
    }),
  )!;
};

const following = async (
  db: Queryable,
  where: { table: SampledTable; column: string; type: string; weight: string; start: string; rows: number },
): Promise<Range | null> => {
  const { table, column, type, weight, start, rows } = where;
  const text = windowText(table, column, `order by ${column}`, weight, `where ${column} >= $2::text::${type}`);
  return first(await db.query<Range>({ text, values: [rows, start] }));
};

/**
 * Heavier rows are never part of a sample: an execution of a million items, say. No batch is that
 * heavy.
 */
const HEAVIEST = 100_000;

/**
 * SQL of a window that starts at a place: rows up to a weight of $1, at least one row, up to the
 * first that is too heavy.
 */
const windowText = (table: string, column: string, order: string, weight: string, where = ''): string => `
select x.a, x.b, x.n
from (
  select (array_agg(k order by k))[1]::text as a, (array_agg(k order by k desc))[1]::text as b, count(*)::float8 as n
  from (
    select k, w, sum(w) over (rows unbounded preceding) as sum, max(w) over (rows unbounded preceding) as heaviest
    from (select ${column} as k, ${weight} as w from ${table} ${where} ${order} limit $1::bigint) r) r
  where sum - w < $1::bigint and heaviest <= ${HEAVIEST}) x
where x.n > 0`;

const first = ({ rows }: { rows: Range[] }): Range | null => rows[0] ?? null;
