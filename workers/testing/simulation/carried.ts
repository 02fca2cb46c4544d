import type { Handler } from '../../../handlers/types';
import type { CarriedBatch } from '../../../postgres/calls/batch';
import { REPORTED_LOST } from '../../../workflows/planning/calls/reportedLost';
import { FLUSH_REASONS } from '../../../workflows/planning/states';
import type { Tables } from './tables';
import type { BatchRow } from './rows';

/**
 * Returns a batch as the store gives it, with times by its clock. Members are listed one by one: a
 * call of a simulated world is mostly this.
 */
export const storedBatch = (batch: BatchRow, handler: Handler, tables: Tables): CarriedBatch => {
  const { nowMs } = tables;
  const { id, weight, attempt, counted, refusals, depth, parentId, unsure, target, inLane } = batch;
  return {
    id,
    targetId: target.id,
    target: target.key,
    n: batch.members.length,
    weight,
    epoch: 1,
    attempt,
    counted,
    refusals,
    depth,
    parentId,
    idempotencyKey: `simulated-${batch.sentAs}`,
    createdUs: batch.createdAtMs * 1_000,
    unconcluded: batch.marked,
    reportedLost: reportedLost(batch),
    unsure,
    startInMs: 0,
    firstCallAtMs: batch.startedAtMs,
    lastCallAtMs: batch.calledAtMs ?? batch.startedAtMs,
    aheadMs: nowMs,
    perTarget: handler.concurrency.perTarget,
    reduced: target.allowed !== null || tables.handler.allowed !== null,
    targetReductions: target.reductions,
    handlerReductions: tables.handler.reductions,
    handler: handler.name,
    inLane: inLane !== null,
    reason: FLUSH_REASONS[batch.reason],
    partition: null,
  };
};

/** Returns the notice by which it is said to be lost, of a batch that was accepted; null: none. */
const reportedLost = ({ reference, marked, error }: BatchRow): string | null =>
  reference !== null && marked && error?.startsWith(REPORTED_LOST) === true ? error : null;
