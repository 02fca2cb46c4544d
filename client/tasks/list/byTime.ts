import { listWaitingAfter, listWaitingBefore } from '../../../postgres/listing/byTime';
import type { WaitingByTime } from '../../../postgres/listing/byTime';
import { inOrder } from '../../../postgres/listing/inOrder';
import type { TimeOrder } from '../../../workflows/planning/pages';
import { mergeWaiting } from './merge';
import type { Source } from './sources';
import { NEWEST } from './tagged';

/** Delayed and held tasks that one part of a page looks at: they may be of any handler. */
const LOOKED_BESIDE = 10_000;

const PLACES: readonly WaitingByTime['place'][] = ['queue', 'delayed', 'held'];

/** Returns where waiting tasks are found outside of lanes, in this order. */
export const byTime = (order: TimeOrder): Source => ({
  name: order,
  first: [order === 'newest' ? NEWEST : 0],
  read: async (pool, scope, [place], limit) => {
    const read = order === 'newest' ? listWaitingBefore : listWaitingAfter;
    const limits = { queued: limit, looked: LOOKED_BESIDE };
    const rows = await inOrder(pool, (db) => read(db, scope, Number(place), limits));
    const lists = PLACES.map((one) => {
      const own = rows.filter((row) => row.place === one);
      return { rows: own, hasMore: own.length === (one === 'queue' ? limit : LOOKED_BESIDE) };
    });
    const { seqs, next } = mergeWaiting(lists, order, limit);
    return {
      candidates: seqs.map((seq) => ({ seq, batchId: null, isOwnEnd: null })),
      next: next === null ? null : [next],
    };
  },
});
