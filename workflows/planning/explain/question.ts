import { span } from './words';

/**
 * When the downstream is asked what became of an accepted batch; null: no question is planned. The
 * end is when the batch is given up. Milliseconds from now, below 0: in the past.
 */
export interface Question {
  pollInMs: number | null;
  pollEndsInMs: number | null;
}

/** A monitor that lives asks within this. */
const LATE_QUESTION_MS = 5_000;
/**
 * Later than this it is called overdue. Below the time after which the monitor stands still: a look
 * that died put its questions off before it asked them.
 */
const OVERDUE_QUESTION_MS = 30_000;

/** Says when the batch is asked about again, to follow "The downstream accepted it". */
export const askedAgain = ({ pollInMs, pollEndsInMs }: Question): string => {
  if (pollInMs === null) return '';
  const isAsked = pollEndsInMs === null || pollInMs < pollEndsInMs;
  // A question that is late by more than a look takes is no promise: nobody asks.
  const wasDue = `; its status was to be asked again ${span(-pollInMs)} ago`;
  if (isAsked && pollInMs < -OVERDUE_QUESTION_MS) return `${wasDue} and is overdue: its monitor does not ask`;
  if (isAsked && pollInMs < -LATE_QUESTION_MS) return wasDue;
  if (isAsked) return `; its status is asked again in ${span(pollInMs)}`;
  return `; nobody asks about it: it is parked if its completion is not told within ${span(pollEndsInMs)}`;
};
