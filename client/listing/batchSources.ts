import * as store from '../../postgres/listing/batchList';
import type { BatchScope, LookedBatch } from '../../postgres/listing/batchList';
import type { Pool } from '../../postgres/pool';
import type { BatchState } from '../../workflows/planning/states';
import { BATCH_STATES } from '../../workflows/planning/states';
import type { Place } from './pageCursor';

/** An order in which batches are found. */
export interface BatchSource {
  name: string;
  first: Place;
  look(pool: Pool, scope: BatchScope, after: Place, limit: number): Promise<LookedBatch<Place>[]>;
}

const source = <P extends Place>(
  name: string,
  first: P,
  look: (pool: Pool, scope: BatchScope, after: P, limit: number) => Promise<LookedBatch<P>[]>,
): BatchSource => ({ name, first, look: (pool, scope, after, limit) => look(pool, scope, after as P, limit) });

const ALL = source('all', store.NUMBER_FIRST, store.lookAtAll);
const OPEN = source('open', store.TARGET_FIRST, store.lookAtOpen);
const PARKED = source('parked', store.TARGET_FIRST, store.lookAtParked);
const BAD = source('bad', store.END_FIRST, store.lookAtBad);
const ENDED = source('ended', store.END_FIRST, store.lookAtEnded);
const OF_TARGET = source('target', store.NUMBER_FIRST, store.lookAtTargets);
const OPEN_OF_TARGET = source('target-open', store.NUMBER_FIRST, store.lookAtOpenOfTarget);
const BAD_OF_TARGET = source('target-bad', store.NUMBER_FIRST, store.lookAtBadOfTarget);

const OF_HANDLER: Readonly<Record<BatchState, BatchSource>> = {
  open: OPEN,
  unknown: PARKED,
  failed: BAD,
  dead: BAD,
  succeeded: ENDED,
  dissolved: ENDED,
};

/** Returns the order for a list: by the index that has as few others as possible. */
export const batchSource = (state: BatchState | null, isOfTarget: boolean): BatchSource => {
  if (!isOfTarget) return state === null ? ALL : OF_HANDLER[state];
  const { open, unknown, failed, dead } = BATCH_STATES;
  const code = state === null ? null : BATCH_STATES[state];
  if (code === open) return OPEN_OF_TARGET;
  return code === unknown || code === failed || code === dead ? BAD_OF_TARGET : OF_TARGET;
};
