import { ApplicationFailure } from '@temporalio/activity';
import type { Handler } from '../../handlers/types';
import type { DispatchInput } from '../../workflows/messages';
import type { CarriedBatch, MemberTask } from '../../postgres/calls/batch';
import type { Fence } from '../../postgres/calls/mark';
import type { ActivityDeps } from '../deps';
import type { PartitionUse } from '../nodes/partitions';
import type { Call, Settled, Standing } from './call';

/** One batch in the hands of a submission. */
export interface Carried {
  batch: CarriedBatch;
  members: readonly MemberTask[];
  attempt: number;
  markedAtMs: number;
  /** Under which it was marked; null: in no partition. */
  fence: Fence | null;
}

/** What the calls of one submission share. */
export interface CallerDeps extends ActivityDeps {
  handler: Handler;
  input: DispatchInput;
  signal: AbortSignal;
  standing: Standing;
  /** What the submission, or this batch's lane, is served under; null: any node may. */
  use: PartitionUse | null;
}

/**
 * What another handler's tasks are is none of this one's business: the leader's row must have
 * changed hands. Nothing was sent; the next turn takes it back.
 */
export const assertOwn = (carried: readonly CarriedBatch[], handler: string): void => {
  const other = carried.find((batch) => batch.handler !== handler);
  if (other !== undefined)
    throw ApplicationFailure.create({
      type: 'OtherHandler',
      message: `Cannot send batch ${other.id}: it is of handler ${other.handler}, and this submission is of ${handler}.`,
      nonRetryable: true,
    });
};

/** The batch of a call that is made again in the same submission, after that call. */
export const carriedAgain = ({ batch, attempt }: Call, kind: Settled['kind']): CarriedBatch => {
  const counts = kind === 'resend' ? 1 : 0;
  return {
    ...batch,
    attempt,
    unconcluded: false,
    counted: batch.counted + counts,
    unsure: batch.unsure || counts === 1,
    refusals: counts === 1 ? 0 : batch.refusals + 1,
    ageMs: (batch.ageMs ?? 0) + 1,
  };
};
