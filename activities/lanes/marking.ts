import type { GrantedMark } from '../../postgres/lanes/submitter';
import { markGranted, markGrantedFenced } from '../../postgres/lanes/submitter';
import type { Marking } from '../calls/preparer';

/**
 * The marks of lane batches. They come last: nothing is waited for between the mark and its call,
 * so the claim is checked right before sending.
 */
export const LANE_MARKING: Marking<GrantedMark> = {
  mark: markGranted,
  markFenced: markGrantedFenced,
  comesLast: true,
};
