import type { GrantedMark } from '../../postgres/lanes/submitter';
import { markGranted, markGrantedFenced } from '../../postgres/lanes/submitter';
import type { Marking } from '../calls/preparer';

/** C29: nothing is waited for between the mark and its call. */
export const LANE_MARKING: Marking<GrantedMark> = {
  mark: markGranted,
  markFenced: markGrantedFenced,
  comesLast: true,
};
