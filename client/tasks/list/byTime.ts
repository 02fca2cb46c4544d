import * as store from '../../../postgres/listing/byTime';
import type { WaitingByTime } from '../../../postgres/listing/byTime';
import { inOrder } from '../../../postgres/listing/inOrder';
import type { Pool } from '../../../postgres/pool';
import type { TimeOrder } from '../../../workflows/planning/pages';
import { mergeWaiting } from './merge';
import type { Candidate, Part } from './part';
import type { Place, Source, SourceScope } from './sources';
import { NEWEST } from './tagged';

/** Delayed and held tasks that one part of a page looks at: they may be of any handler. */
const LOOKED_BESIDE = 10_000;
/** Tasks that a page looks at, one by one, before it asks each target for its first. */
const WALKED = 2_000;

const PLACES: readonly WaitingByTime['place'][] = ['queue', 'delayed', 'held'];

/** Returns where waiting tasks are found outside of lanes, in this order. */
export const byTime = (order: TimeOrder): Source => {
  const first = order === 'newest' ? NEWEST : 0;
  return {
    name: order,
    first: [first],
    read: async (pool, scope, [at], limit) => {
      const page: Page = { order, scope, place: Number(at), limit };
      // The oldest tasks have ended, most of them, and one target is soon asked.
      const walks = scope.target === null && (order === 'newest' || page.place !== first);
      return (walks ? await walk(pool, page) : null) ?? (await look(pool, page));
    },
  };
};

interface Page {
  order: TimeOrder;
  scope: SourceScope;
  place: number;
  limit: number;
}

const found = (seqs: readonly number[]): Candidate[] => seqs.map((seq) => ({ seq, batchId: null, isOwnEnd: null }));

/** Finds a page among the next tasks; null: they have too few that wait. */
const walk = async (pool: Pool, { order, scope, place, limit }: Page): Promise<Part<Place> | null> => {
  const read = order === 'newest' ? store.walkWaitingBefore : store.walkWaitingAfter;
  const limits = { page: limit, looked: WALKED };
  const seqs = await inOrder(pool, (db) => read(db, scope.handlerId!, place, limits));
  return seqs.length < limit ? null : { candidates: found(seqs), next: [seqs.at(-1)!] };
};

/** Finds a page by the first task of each target. */
const look = async (pool: Pool, { order, scope, place, limit }: Page): Promise<Part<Place>> => {
  const read = order === 'newest' ? store.listWaitingBefore : store.listWaitingAfter;
  const rows = await inOrder(pool, (db) => read(db, scope, place, { queued: limit, looked: LOOKED_BESIDE }));
  const lists = PLACES.map((one) => {
    const own = rows.filter((row) => row.place === one);
    return { rows: own, hasMore: own.length === (one === 'queue' ? limit : LOOKED_BESIDE) };
  });
  const { seqs, next } = mergeWaiting(lists, order, limit);
  return { candidates: found(seqs), next: next === null ? null : [next] };
};
