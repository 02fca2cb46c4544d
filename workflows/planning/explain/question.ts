import { formatDuration } from '../duration';

/**
 * When an accepted batch is polled next, and when it is given up; null: it is not polled.
 * Milliseconds from now; negative: past.
 */
export interface Question {
  pollInMs: number | null;
  pollEndsInMs: number | null;
}

/** Lateness of a status request that a running monitor never exceeds. */
const LATE_QUESTION_MS = 5_000;
/**
 * Later than this it is called overdue. Below the time after which the monitor has stalled: a look
 * that died put its status requests off before it sent them.
 */
const OVERDUE_QUESTION_MS = 30_000;

/** Says when the batch is polled again, to follow "The downstream accepted it". */
export const askedAgain = ({ pollInMs, pollEndsInMs }: Question): string => {
  if (pollInMs === null) return '';
  const isAsked = pollEndsInMs === null || pollInMs < pollEndsInMs;
  // A status request that is later than a look takes is not promised: no monitor may be running.
  const wasDue = `; its next poll was due ${formatDuration(-pollInMs)} ago`;
  if (isAsked && pollInMs < -OVERDUE_QUESTION_MS) return `${wasDue} and is overdue: its monitor does not poll`;
  if (isAsked && pollInMs < -LATE_QUESTION_MS) return wasDue;
  if (isAsked) return `; the next poll is in ${formatDuration(pollInMs)}`;
  return `; it is not polled: it is parked unless its completion arrives within ${formatDuration(pollEndsInMs)}`;
};
