import { asDatabaseError } from '../../postgres/errors';

/** What a caller is told about the effect of a write that failed in the database. */
export interface FailureTexts {
  /** Nothing of the write was done. */
  none: string;
  /** The write may have been committed, or some of its steps were. */
  unknown: string;
}

const NOTHING_ACCEPTED = 'Nothing was accepted.';
const UNKNOWN = 'It is unknown whether it was accepted:';

const SAME_IDS = 'submit again with the same ids, which stores nothing twice.';
export const SUBMIT: FailureTexts = { none: NOTHING_ACCEPTED, unknown: `${UNKNOWN} ${SAME_IDS}` };
const streamed = `A part of it may have been accepted: ${SAME_IDS}`;
export const SUBMIT_STREAM: FailureTexts = { none: streamed, unknown: streamed };
export const OPEN_FANOUT: FailureTexts = {
  none: 'No fan-out was opened.',
  unknown:
    'It is unknown whether it was opened: if you passed an `id`, open it again; otherwise open another, and the first one expires.',
};
const added =
  'Some items may have been added: if you passed a `key`, add again with the same key; otherwise their ids are unknown.';
export const ADD_ITEMS: FailureTexts = { none: added, unknown: added };
const acked = 'Some of the items may have been changed: repeat the call, which changes nothing twice.';
export const ACK_ITEMS: FailureTexts = { none: acked, unknown: acked };
export const executing = (requestId: string): FailureTexts => ({
  none: 'No item of the execution runs.',
  unknown: `It is unknown whether it was accepted: execute again with requestId ${requestId}, which accepts nothing twice.`,
});
export const COMPLETE: FailureTexts = {
  none: 'Nothing was settled.',
  unknown: 'It is unknown whether it was settled: report it again; a repeated report counts once.',
};
export const CHANGE: FailureTexts = {
  none: 'Nothing was changed.',
  unknown: 'It is unknown whether it was done: check, or repeat the call.',
};
const inSteps = 'A part of it may have been done: check, or repeat the call, which does nothing twice.';
export const CHANGE_IN_STEPS: FailureTexts = { none: inSteps, unknown: inSteps };

/**
 * Runs a caller's write. If it fails in the database, throws an error that says what became of the
 * write, and never an error of the driver itself.
 */
export const withFailureTexts = async <T>(texts: FailureTexts, work: () => Promise<T>): Promise<T> => {
  try {
    return await work();
  } catch (error) {
    throw withOutcome(error, texts);
  }
};

export const withOutcome = (error: unknown, texts: FailureTexts): unknown => {
  const typed = asDatabaseError(error);
  typed?.addMeaning(texts[typed.outcome]);
  return typed ?? error;
};
