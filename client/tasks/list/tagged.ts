import { listTagged, listTaggedAfter, listTaggedOfAll } from '../../../postgres/listing/tagged';
import type { SeqRange } from '../../../postgres/listing/accepted';
import { ALL_SEQS } from '../../../postgres/listing/accepted';
import type { Tagged } from '../../../postgres/listing/tagged';
import { inOrder } from '../../../postgres/listing/inOrder';
import type { Pool } from '../../../postgres/pool';
import { TASK_STATES } from '../../../workflows/planning/states';
import type { Part } from './part';
import type { Place, Source, SourceScope } from './sources';

/** Tasks with the tag that one part of a page looks at, where not all of them match. */
const LOOKED = 500;
/** Later than any task. */
export const NEWEST = Number.MAX_SAFE_INTEGER;

/**
 * Returns where tasks of a range with this tag are found, newest first, in the scope's state or in
 * any.
 */
export const tagged = (tag: string, { from, to }: SeqRange = ALL_SEQS): Source => ({
  name: 'tagged',
  first: [Math.min(to + 1, NEWEST)],
  read: async (pool, scope, [place], limit) => {
    const read = scope.handlerId === null ? listTaggedOfAll : listTagged;
    const looked = scope.state === null && scope.target === null ? limit : LOOKED;
    const rows = await inOrder(pool, (db) => read(db, tag, scope, Number(place), looked));
    const within = rows.filter(({ seq }) => seq >= from);
    // What comes after one before the range is before it, too.
    return partOf({ rows: within, looked: within.length < rows.length ? Infinity : looked }, scope, limit);
  },
});

/**
 * Returns where tasks with this tag are found that ended by themselves, in no batch, as they were
 * accepted.
 */
export const taggedDependents = (tag: string): Source => ({
  name: 'tagged-dependents',
  first: [0],
  read: async (pool: Pool, scope: SourceScope, [place]: Place, limit: number) => {
    const rows = await inOrder(pool, (db) => listTaggedAfter(db, tag, scope, Number(place), LOOKED));
    return partOf({ rows, looked: LOOKED }, scope, limit, ({ isOwnEnd, batchId }) => isOwnEnd && batchId === null);
  },
});

const partOf = (
  { rows, looked }: { rows: readonly Tagged[]; looked: number },
  { state }: SourceScope,
  limit: number,
  isMeant: (row: Tagged) => boolean = () => true,
): Part<Place> => {
  const found = rows.filter((row) => row.matches && (state === null || row.state === state) && isMeant(row));
  const taken = found.slice(0, limit);
  const candidates = taken.map(({ seq, batchId, isOwnEnd, state: now }) => ({
    seq,
    batchId,
    isOwnEnd: now < TASK_STATES.succeeded ? null : isOwnEnd,
  }));
  if (found.length > taken.length) return { candidates, next: [taken.at(-1)!.seq] };
  return { candidates, next: rows.length < looked ? null : [rows.at(-1)!.seq] };
};
