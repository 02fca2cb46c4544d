import { withRetries } from '../../postgres/errors';
import { findLanes } from '../../postgres/lanes/lane';
import * as store from '../../postgres/lanes/reportLost';
import type { Pool } from '../../postgres/pool';
import { readTime } from '../../postgres/time';
import { REPORTED_LOST } from '../../workflows/planning/calls/reportedLost';
import { checkName, checkReason, checkWhole } from '../arguments';
import { InvalidArgumentError } from '../errors';
import { requireLane } from './views';

/** What a downstream has lost. Default: everything that it had accepted in the lane. */
export interface LostOptions {
  /** Only batches after this one in the lane. Not together with `afterReference`. */
  afterBatch?: number;
  /** Only batches after the one that the downstream accepted under this reference. */
  afterReference?: string;
  /**
   * Only batches that were accepted by this time (ISO text, by the database's clock); default: now.
   * With the `acceptedBefore` of an earlier answer, a repeat does no harm.
   */
  acceptedBefore?: string;
  /** The reason, which the error of each of these batches shows: at most 1,000 characters. */
  reason?: string;
}

/** The result of `reportLost`. */
export interface LostAnswer {
  /** Number of batches that are looked up and then sent again, in order. */
  batches: number;
  /** The first and the last of those batches; null: there is none. */
  first: number | null;
  last: number | null;
  /** Batches accepted later than this time are not among them. */
  acceptedBefore: string;
}

/** Batches per transaction. */
const BATCHES_PER_STATEMENT = 1_000;

/**
 * Makes the outcomes of the accepted batches unknown, all of a lane or those after one batch. From
 * the first statement on, the lane sends nothing new until the oldest unknown batch is resolved, so
 * that the others may follow in separate transactions.
 */
export const reportLost = async (
  pool: Pool,
  service: string,
  options: LostOptions,
): Promise<{ answer: LostAnswer; laneIds: number[] }> => {
  await requireLane(pool, checkName('service', service));
  const [lane] = await findLanes(pool, [service]);
  const laneId = lane!.id;
  const after = await findAfter(pool, service, options);
  const acceptedBefore = checkInstant(options.acceptedBefore) ?? (await readTime(pool));
  const because = options.reason === undefined ? '' : `: ${checkReason(options.reason)}`;
  const error = `${REPORTED_LOST}${after === null ? '' : ` after batch ${after.batchId}`}${because}`;
  const lost: number[] = [];
  let afterSeq = after?.seq ?? -1;
  for (;;) {
    const part = { laneId, afterSeq, acceptedBefore, error, limit: BATCHES_PER_STATEMENT };
    const found = await withRetries(() => store.loseAccepted(pool, part));
    for (const { batchId, moved } of found) if (moved) lost.push(batchId);
    if (found.length < BATCHES_PER_STATEMENT) break;
    afterSeq = found.at(-1)!.seq;
  }
  const answer = { batches: lost.length, first: lost[0] ?? null, last: lost.at(-1) ?? null, acceptedBefore };
  return { answer, laneIds: [laneId] };
};

const findAfter = async (
  pool: Pool,
  service: string,
  { afterBatch, afterReference }: LostOptions,
): Promise<store.LanePosition | null> => {
  if (afterBatch === undefined && afterReference === undefined) return null;
  if (afterBatch !== undefined && afterReference !== undefined)
    throw new InvalidArgumentError('afterReference', 'nothing beside afterBatch', afterReference, 'Pass one of them.');
  const [field, value] =
    afterBatch === undefined
      ? (['afterReference', checkName('afterReference', afterReference)] as const)
      : (['afterBatch', checkWhole('afterBatch', afterBatch, 1, Number.MAX_SAFE_INTEGER)] as const);
  const found = await store.findPositions(pool, afterBatch ?? null, afterReference ?? null);
  const here = found.filter((position) => position.service === service);
  if (here.length === 1) return here[0]!;
  const where =
    found.length === 0
      ? 'No batch with it is in any lane.'
      : here.length === 0
        ? `It is in lane ${found[0]!.service}.`
        : `Batches ${here.map(({ batchId }) => batchId).join(', ')} have it: pass afterBatch.`;
  const what = afterBatch === undefined ? 'the reference of one batch' : 'a batch';
  throw new InvalidArgumentError(field, `${what} of lane ${service}`, value, `${where} Nothing was changed.`);
};

const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?(Z|[+-]\d\d:\d\d)$/;

const checkInstant = (value: unknown): string | undefined => {
  if (value === undefined) return undefined;
  if (typeof value !== 'string' || !ISO.test(value) || Number.isNaN(Date.parse(value)))
    throw new InvalidArgumentError('acceptedBefore', 'an ISO time such as 2030-01-31T12:00:00.000Z', value);
  return value;
};
