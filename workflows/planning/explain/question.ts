import { formatDuration } from '../duration';
import { STALLED_MS } from '../liveness';

/**
 * When an accepted batch is polled next (null: it is not polled), and when it is parked (null: it
 * has no deadline). Milliseconds from now, negative if past.
 */
export interface Question {
  pollInMs: number | null;
  pollEndsInMs: number | null;
  /** How long ago the read of its results last got on; absent or null: they are not read. */
  readAgoMs?: number | null;
}

/** Lateness that the polls of a running monitor never exceed. */
const LATE_QUESTION_MS = 5_000;
/**
 * A poll that is later than this is called overdue. Below the time after which the monitor counts
 * as stalled: a look postpones its polls before it sends them, so after a look that died they seem
 * less late than they are.
 */
const OVERDUE_QUESTION_MS = 30_000;

/**
 * Returns when the batch is polled again, to be appended to "The downstream accepted it". Empty: it
 * is not polled.
 */
export const askedAgain = (question: Question): string => {
  const { pollInMs, pollEndsInMs } = question;
  if (isRead(question)) return beingRead(question.readAgoMs!);
  if (pollInMs === null) return '';
  const isAsked = pollEndsInMs === null || pollInMs < pollEndsInMs;
  // A poll that is later than a look takes is not promised to be next: perhaps no monitor is
  // running.
  const wasDue = `; its next poll was due ${formatDuration(-pollInMs)} ago`;
  if (isAsked && pollInMs < -OVERDUE_QUESTION_MS) return `${wasDue} and is overdue: its monitor does not poll`;
  if (isAsked && pollInMs < -LATE_QUESTION_MS) return wasDue;
  if (isAsked) return `; the next poll is in ${formatDuration(pollInMs)}`;
  return `; it is not polled: it is parked unless its completion arrives within ${formatDuration(pollEndsInMs)}`;
};

/** Says whether its results are being read: the next poll is then only the end of a lease. */
export const isRead = ({ pollInMs, readAgoMs }: Question): boolean =>
  readAgoMs != null && pollInMs !== null && pollInMs > 0;

const beingRead = (agoMs: number): string => {
  if (agoMs < LATE_QUESTION_MS) return '; its results are being read';
  if (agoMs < STALLED_MS) return `; its results are being read: the last came ${formatDuration(agoMs)} ago`;
  return (
    `; the read of its results has stalled: none has come for ${formatDuration(agoMs)}. It is given up after ` +
    'poll.idleMs without one, and the batch is polled again; check the downstream, and what reads from it'
  );
};
