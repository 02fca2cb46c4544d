import type { Queryable } from '../pool';

/**
 * Statements that look for batches. Where an index has those of the state alone, all rows match;
 * the others look at so many rows, and say which of them are of the handler and in the state, so
 * that a page takes as long at any size of the store.
 */
export interface BatchScope {
  handlerId: number;
  /** Null: all targets of the handler. */
  targetId: number | null;
  /** Null: any. */
  state: number | null;
}

export interface LookedBatch<Place> {
  id: number;
  place: Place;
  matches: boolean;
}

type Look<Place> = (db: Queryable, scope: BatchScope, after: Place, limit: number) => Promise<LookedBatch<Place>[]>;

const looking =
  <Place extends readonly unknown[]>(name: string, text: string): Look<Place> =>
  async (db, { handlerId, targetId, state }, after, limit) => {
    const values = [handlerId, targetId, state, limit, ...after];
    const { rows } = await db.query<LookedBatch<Place>>({ name, text, values });
    return rows;
  };

const MATCHES = `($3::smallint is null or b.state = $3) and b.target_id = coalesce($2::int, b.target_id)
  and (select t.handler_id from target t where t.id = b.target_id) = $1::int as matches`;

/** Number of the batch, from the newest on. */
export type NumberPlace = readonly [before: number];
export const NUMBER_FIRST: NumberPlace = [Number.MAX_SAFE_INTEGER];

const byNumber = (condition: string): string => `
select b.id, json_build_array(b.id) as place, ${MATCHES}
from (
  select b.id, b.state, b.target_id
  from batch b
  where b.id < $5::bigint${condition}
  order by b.id desc limit $4) b
order by b.id desc`;

export const lookAtAll = looking<NumberPlace>('look-at-batches', byNumber(''));
export const lookAtTargets = looking<NumberPlace>('look-at-batches-of-target', byNumber(' and b.target_id = $2'));
export const lookAtOpenOfTarget = looking<NumberPlace>(
  'look-at-open-batches-of-target',
  byNumber(' and b.target_id = $2 and b.state = 1 /* open */'),
);
export const lookAtBadOfTarget = looking<NumberPlace>(
  'look-at-bad-batches-of-target',
  byNumber(' and b.target_id = $2 and b.state = $3 and b.state in (3 /* unknown */, 5 /* failed */, 6 /* dead */)'),
);

/** When it ended, in microseconds, and its number, from the newest on. */
export type EndPlace = readonly [beforeUs: number, beforeId: number];
/** A time after all: in the year 2223. */
export const END_FIRST: EndPlace = [8e15, 0];

const MICROSECONDS = "timestamptz 'epoch' + $5::float8 * interval '1 microsecond'";
const byEnd = (condition: string): string => `
select b.id, json_build_array((extract(epoch from b.finished_at) * 1000000)::bigint, b.id) as place, ${MATCHES}
from (
  select b.id, b.state, b.target_id, b.finished_at
  from batch b
  where ${condition} and b.finished_at <= ${MICROSECONDS} and (b.finished_at, b.id) < (${MICROSECONDS}, $6::bigint)
  order by b.finished_at desc, b.id desc limit $4) b
order by b.finished_at desc, b.id desc`;

export const lookAtEnded = looking<EndPlace>('look-at-ended-batches', byEnd('b.finished_at is not null'));
export const lookAtBad = looking<EndPlace>('look-at-bad-batches', byEnd('b.state in (5 /* failed */, 6 /* dead */)'));

/** Key of the target, and number of the batch. */
export type TargetPlace = readonly [key: string, id: number];
export const TARGET_FIRST: TargetPlace = ['', 0];

const byTarget = (condition: string): string => `
select b.id, json_build_array(t.key, b.id) as place, ${MATCHES}
from target t join batch b on b.target_id = t.id and ${condition}
where t.handler_id = $1 and t.key >= $5::text and (t.key > $5 or b.id > $6::bigint)
order by t.key, b.id limit $4`;

export const lookAtOpen = looking<TargetPlace>('look-at-open-batches', byTarget('b.state = 1 /* open */'));
export const lookAtParked = looking<TargetPlace>(
  'look-at-parked-batches',
  byTarget('b.state = 3 /* unknown */ and b.state in (3 /* unknown */, 5 /* failed */, 6 /* dead */)'),
);

export interface ListedBatch {
  id: number;
  target: string;
  state: number;
  reason: number;
  n: number;
  left: number;
  bytes: number;
  attempts: number;
  retryAt: Date | null;
  reference: string | null;
  error: string | null;
  createdAt: Date;
  startedAt: Date | null;
  finishedAt: Date | null;
}

/** Returns those of the batches that exist, in no order, as they are now. */
export const readListedBatches = async (db: Queryable, ids: readonly number[]): Promise<ListedBatch[]> => {
  const { rows } = await db.query<ListedBatch>({
    name: 'read-listed-batches',
    text: `
select b.id, t.key as target, b.state, b.reason, b.n, b.n_left as left, b.bytes, b.attempt as attempts,
  b.retry_at as "retryAt", b.reference, b.error, b.created_at as "createdAt", b.started_at as "startedAt",
  b.finished_at as "finishedAt"
from batch b join target t on t.id = b.target_id
where b.id = any($1::bigint[])`,
    values: [ids],
  });
  return rows;
};
