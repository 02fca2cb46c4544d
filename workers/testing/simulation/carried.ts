import type { Handler } from '../../../handlers/types';
import type { CarriedBatch } from '../../../postgres/calls/batch';
import { FLUSH_REASONS } from '../../../workflows/planning/states';
import type { BatchRow } from './tables';

/**
 * Returns a batch as the store gives it, with times by its clock. Members are listed one by one: a
 * call of a simulated world is mostly this.
 */
export const storedBatch = (batch: BatchRow, handler: Handler, nowMs: number): CarriedBatch => {
  const { id, weight, attempt, counted, refusals, depth, parentId, unsure, target } = batch;
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
    unsure,
    startInMs: 0,
    firstCallAtMs: batch.startedAtMs,
    lastCallAtMs: batch.calledAtMs ?? batch.startedAtMs,
    aheadMs: nowMs,
    perTarget: handler.concurrency.perTarget,
    reduced: false,
    targetReductions: 0,
    handlerReductions: 0,
    handler: handler.name,
    inLane: false,
    reason: FLUSH_REASONS[batch.reason],
    partition: null,
  };
};
