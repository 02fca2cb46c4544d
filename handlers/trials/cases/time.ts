import type { Case, Judge } from '../case';
import { all, both, first } from '../case';
import { inTurn } from '../turn';

const SLOW_MS = 150;
const TIMEOUT_MS = 400;
const NEVER_MS = 30_000;
const CANCEL_MS = 60;
/** More than a call takes to stop, and to be abandoned if it does not. */
const STOPS_WITHIN_MS = 1_000;

const stopsAfter =
  (ms: number): Judge =>
  ({ firstMs }) =>
    firstMs <= ms + STOPS_WITHIN_MS
      ? undefined
      : `expected the call to stop within ${STOPS_WITHIN_MS} ms of its end, got ${Math.round(firstMs - ms)} ms`;

/** Slow answers, deadlines and cancellation. */
export const TIME_CASES: readonly Case[] = [
  {
    name: 'a slow answer, in time',
    room: 'time',
    script: inTurn({ delayMs: SLOW_MS }),
    judge: both(first('results'), all('succeeded')),
  },
  {
    name: 'an answer after the deadline: the call stops, and its outcome is unknown',
    room: 'time',
    script: inTurn({ delayMs: NEVER_MS }),
    drive: { timeoutMs: TIMEOUT_MS },
    mayEndUnknown: true,
    judge: both(first('unknown', 'results'), stopsAfter(TIMEOUT_MS), all('succeeded', 'unknown')),
  },
  {
    name: 'cancelled while it waits for the answer: the call stops, and its outcome is unknown',
    room: 'time',
    script: inTurn({ delayMs: NEVER_MS }),
    drive: { cancelMs: CANCEL_MS },
    mayEndUnknown: true,
    judge: both(first('unknown', 'later'), stopsAfter(CANCEL_MS), all('succeeded', 'unknown')),
  },
];
