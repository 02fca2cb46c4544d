import type { NextGrant } from '../../../workflows/planning/lanes/nextGrant';
import { decideNextGrant } from '../../../workflows/planning/lanes/nextGrant';
import { IDLE_LOOK_MS, LONGEST_WAIT_MS } from '../../../workflows/planning/looks';

/** What a queuer does after a turn. */

type Turn = Parameters<typeof decideNextGrant>[0];
const TURN: Turn = { paused: false, mayClaim: true, free: 1, again: false, dueInMs: null, live: 0 };
const idle = (heldBy: string | null): NextGrant => ({ state: 'idle', inMs: 0, timer: false, again: false, heldBy });
const looks = (heldBy: string | null): NextGrant => ({ ...idle(heldBy), state: 'waiting', inMs: IDLE_LOOK_MS });
const waits = (inMs: number): NextGrant => ({ state: 'waiting', inMs, timer: true, again: false, heldBy: null });
const works = (parts: Partial<NextGrant>): NextGrant => ({ ...idle(null), state: 'working', ...parts });

test.each<[string, Partial<Turn>, NextGrant]>([
  ['nothing to do: it ends', {}, idle(null)],
  ['nothing to do while a submitter is at work: it looks now and then', { live: 1 }, looks(null)],
  ['paused', { paused: true, again: true, dueInMs: 5 }, idle('paused')],
  ['paused while a submitter is at work', { paused: true, live: 1 }, looks('paused')],
  ['draining: the next run takes over at once', { mayClaim: false, dueInMs: 5 }, works({ heldBy: 'continue-as-new' })],
  ['lanes left to look at', { again: true, free: 0 }, works({ again: true })],
  ['no submitter free', { free: 0, live: 8, dueInMs: 5 }, looks('all submitters are at work')],
  ['more at work than there are', { free: -1, live: 8, dueInMs: 5 }, looks('all submitters are at work')],
  ['a lane is due later', { dueInMs: 700 }, waits(700)],
  ['a lane is due', { dueInMs: -3 }, waits(0)],
  ['a lane is due in a month', { dueInMs: 30 * LONGEST_WAIT_MS }, waits(LONGEST_WAIT_MS)],
])('%s', (_, turn, expected) => expect(decideNextGrant({ ...TURN, ...turn })).toEqual(expected));
