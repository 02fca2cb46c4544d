import { unmarkAttempts } from '../../postgres/calls/mark';
import { unmarkRecovered } from '../../postgres/lanes/recovery';
import { outlast } from '../../postgres/outage';
import type { GrantedMark } from '../../postgres/lanes/submitter';
import { markGranted, markGrantedFenced, returnGranted } from '../../postgres/lanes/submitter';
import type { Marking } from '../calls/preparer';
import type { ActivityDeps } from '../deps';

/**
 * The marks of lane batches. They come last: nothing is waited for between the mark and its call,
 * so the claim is checked right before sending.
 */
export const LANE_MARKING: Marking<GrantedMark> = {
  mark: markGranted,
  markFenced: markGrantedFenced,
  async unmark(pool, marks, node) {
    await unmarkAttempts(pool, marks, node);
    await unmarkRecovered(pool, marks, node);
  },
  carrierOf: ({ submitter }) => submitter,
  comesLast: true,
};

/**
 * Returns an unsent batch to its lane, also through an outage: an attempt that stays marked counts
 * as sent, and its lane waits for it. `unused`: the attempt that was marked for it; null: none was.
 * False: its submitter did not hold it any more, and there was no mark to take back.
 */
export const returnUnsent = async (
  { pool, node }: Pick<ActivityDeps, 'pool' | 'node'>,
  { id, submitter, unused }: { id: number; submitter: number; unused: number | null },
  signal: AbortSignal,
): Promise<boolean> => {
  let wasAway = false;
  const work = async (): Promise<boolean> => {
    const lane = await returnGranted(pool, id, submitter, unused);
    if (lane !== null) return true;
    // In an outage, or while this process was stopped, its lane took it back as one that was sent.
    const mark = unused === null ? [] : [{ id, attempt: unused, dispatch: submitter }];
    const unmarked = mark.length === 0 ? 0 : await unmarkRecovered(pool, mark, node);
    return unmarked > 0 || wasAway; // it may be done
  };
  return outlast(work, { signal, onOutage: () => void (wasAway = true) });
};
