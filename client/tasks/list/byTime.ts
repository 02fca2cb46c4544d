import * as store from '../../../postgres/listing/byTime';
import type { SeqRange } from '../../../postgres/listing/accepted';
import { ALL_SEQS } from '../../../postgres/listing/accepted';
import type { WaitingByTime } from '../../../postgres/listing/byTime';
import { inOrder } from '../../../postgres/listing/inOrder';
import type { Pool } from '../../../postgres/pool';
import type { TimeOrder } from '../../../workflows/planning/pages';
import { mergeWaiting } from './merge';
import { NEWEST } from './tagged';
import type { Candidate, Part } from './part';
import type { Place, Source, SourceScope } from './sources';

/** Delayed and held tasks that one part of a page looks at: they may be of any handler. */
const LOOKED_BESIDE = 10_000;
/** Tasks that a page looks at, one by one, before it asks each target for its first. */
const WALKED = 2_000;

const PLACES: readonly WaitingByTime['place'][] = ['queue', 'delayed', 'held'];

/** Returns where waiting tasks of a range are found outside of lanes, in this order. */
export const byTime = (order: TimeOrder, { from, to }: SeqRange = ALL_SEQS): Source => {
  const [first, end] = order === 'newest' ? [Math.min(to + 1, NEWEST), from] : [from - 1, to];
  return {
    name: order,
    first: [first],
    read: async (pool, scope, [at], limit) => {
      const page: Page = { order, scope, place: Number(at), limit, end };
      // The oldest tasks have ended, most of them, and one target is soon asked.
      const walks = scope.target === null && (order === 'newest' || page.place >= 0);
      return (walks ? await walk(pool, page) : null) ?? (await look(pool, page));
    },
  };
};

interface Page {
  order: TimeOrder;
  scope: SourceScope;
  place: number;
  limit: number;
  /** The last seq of the range, in this order. */
  end: number;
}

const found = (seqs: readonly number[]): Candidate[] => seqs.map((seq) => ({ seq, batchId: null, isOwnEnd: null }));

/** Finds a page among the next tasks; null: they have too few that wait. */
const walk = async (pool: Pool, { order, scope, place, limit, end }: Page): Promise<Part<Place> | null> => {
  const read = order === 'newest' ? store.walkWaitingBefore : store.walkWaitingAfter;
  const limits = { page: limit, looked: WALKED, end };
  const seqs = await inOrder(pool, (db) => read(db, scope.handlerId!, place, limits));
  return seqs.length < limit ? null : { candidates: found(seqs), next: [seqs.at(-1)!] };
};

/** Finds a page by the first task of each target. */
const look = async (pool: Pool, { order, scope, place, limit, end }: Page): Promise<Part<Place>> => {
  const read = order === 'newest' ? store.listWaitingBefore : store.listWaitingAfter;
  const limits = { queued: limit, looked: LOOKED_BESIDE, end };
  const rows = await inOrder(pool, (db) => read(db, scope, place, limits));
  const lists = PLACES.map((one) => {
    const own = rows.filter((row) => row.place === one);
    return { rows: own, hasMore: own.length === (one === 'queue' ? limit : LOOKED_BESIDE) };
  });
  const { seqs, next } = mergeWaiting(lists, order, limit);
  return { candidates: found(seqs), next: next === null ? null : [next] };
};
