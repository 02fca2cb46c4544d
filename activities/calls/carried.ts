import { ApplicationFailure } from '@temporalio/activity';
import type { BatchDependency } from '../../handlers/contract';
import type { Handler } from '../../handlers/types';
import type { DispatchInput } from '../../workflows/messages';
import type { CarriedBatch } from '../../postgres/calls/batch';
import type { MemberTask } from '../../postgres/calls/members';
import type { Fence } from '../../postgres/calls/mark';
import type { ActivityDeps } from '../deps';
import type { PartitionUse } from '../nodes/partitions';
import type { Call, Settled, Home } from './call';

/** One batch that a dispatch carries. */
export interface Carried {
  batch: CarriedBatch;
  members: readonly MemberTask[];
  attempt: number;
  markedAtMs: number;
  /** The partition and epoch under which it was marked; null: none. */
  fence: Fence | null;
  /** In a lane: dependencies that are handed to the downstream. */
  dependsOn?: readonly BatchDependency[];
}

/** What the calls of one dispatch share. */
export interface CallerDeps extends ActivityDeps {
  handler: Handler;
  input: DispatchInput;
  signal: AbortSignal;
  home: Home;
  /**
   * The partition under which the dispatch, or this batch's lane, is served; null: any node may
   * send it.
   */
  use: PartitionUse | null;
}

/**
 * Throws if a batch belongs to another handler: the leader's row must have changed hands, and this
 * one must not read the tasks. Nothing was sent; the next turn takes it back.
 */
export const assertOwn = (carried: readonly CarriedBatch[], handler: string): void => {
  const other = carried.find((batch) => batch.handler !== handler);
  if (other !== undefined)
    throw ApplicationFailure.create({
      type: 'OtherHandler',
      message: `Cannot send batch ${other.id}: it is of handler ${other.handler}, and this dispatch is of ${handler}.`,
      nonRetryable: true,
    });
};

/** Returns the batch as it is after a call, when the same dispatch makes the call again. */
export const carriedAgain = (
  { batch, attempt, firstCallAtMs, calledAtMs }: Call,
  kind: Settled['kind'],
): CarriedBatch => {
  const counts = kind === 'resend' ? 1 : 0;
  return {
    ...batch,
    attempt,
    unconcluded: false,
    counted: batch.counted + counts,
    unsure: batch.unsure || counts === 1,
    refusals: counts === 1 ? 0 : batch.refusals + 1,
    firstCallAtMs,
    lastCallAtMs: calledAtMs,
  };
};
