import { OWN_CALLS, SHARED_RATE } from '../../../../workflows/planning/grouping/next';
import { UNANSWERED_MS } from '../../../../workflows/planning/liveness';
import type { Case, Parts } from './facts';

/** Due, and the leader is at work. */
const due = {
  queued: { oldestMs: 300 },
  target: { dueInMs: -50 },
  leader: { state: 'working', wakeInMs: null },
} as const;
const batch = (given: Parts['batch']): Parts => ({
  state: 'in-progress',
  batch: { attempt: 1, dispatched: false, ...given },
});
const atWork = /^Its batch is next for leader "0", which is at work now\.$/;

/** What is said at the very moment at which something begins or ends, and where two causes meet. */
export const EDGE_CASES: Case[] = [
  // Times.
  ['at its time', { delayedInMs: 0, leader: due.leader }, 'leader', 0, /^It is next for leader/],
  ['1 ms before its time', { delayedInMs: 1 }, 'delay', 1, /^It joins no batch for another 1 ms/],
  [
    'tried before, and its time has come',
    { delayedInMs: -5, attempts: 2, leader: due.leader },
    'leader',
    0,
    /^After 2 attempts it is next for leader/,
  ],
  ['at its linger', { ...due, queued: { oldestMs: 250 } }, 'leader', 0, atWork],
  [
    'at its quiet period',
    { ...due, queued: { newestMs: 60 }, target: { quietMs: 60, dueInMs: -1 } },
    'leader',
    0,
    atWork,
  ],
  [
    'a hair before it is quiet, but too few',
    { queued: { newestMs: 29.5 }, target: { quietMs: 30, minItems: 5 } },
    'linger',
    150,
    /when the oldest of them has waited/,
  ],
  ['held for 1 ms', { queued: {}, handler: { holdInMs: 1 } }, 'hold', 1, /nothing is sent for 1 ms\.$/],
  [
    'lingers, on timers that are just late enough to be noticed',
    { queued: {}, timersLateMs: 100 },
    'linger',
    150,
    /or when it is full\. Within 100 ms after that/,
  ],
  // Its leader.
  [
    'at the end of the lease',
    { ...due, leader: { ...due.leader, expiresInMs: 0 } },
    'leader',
    null,
    /silent for 0 ms past its lease/,
  ],
  ['1 ms before the end of the lease', { ...due, leader: { ...due.leader, expiresInMs: 1 } }, 'leader', 0, atWork],
  ['at work, to look again later', { ...due, leader: { ...due.leader, wakeInMs: 900 } }, 'leader', 0, atWork],
  ['1 ms before a look', { ...due, leader: { wakeInMs: 1 } }, 'leader', 1, /which looks again within 1 ms\./],
  [
    'woken as long ago as a turn may take',
    { ...due, leader: { ...due.leader, unansweredMs: UNANSWERED_MS } },
    'leader',
    0,
    atWork,
  ],
  [
    'it stands still, and its workflow is not known',
    { ...due, leader: { ...due.leader, unansweredMs: 95_000 } },
    'leader',
    null,
    /Workflow of leader "0"; it has never taken a turn\. A worker's sweeper/,
  ],
  // Limits.
  [
    'no room, and no worker',
    { ...due, handler: { served: false }, target: { busy: true, inFlight: 1 } },
    'leader',
    null,
    /no live worker serves/,
  ],
  [
    'no room, and an idle leader',
    { ...due, leader: { state: 'idle', wakeInMs: null }, target: { busy: true, inFlight: 1 } },
    'leader',
    null,
    /is idle and was not woken/,
  ],
  [
    'target at its weight and its calls',
    { ...due, target: { busy: true, weight: 90, inFlight: 1 }, handler: { weightPerTarget: 100 } },
    'slot',
    null,
    /has 1 call in flight of at most 1; it is sent/,
  ],
  [
    'target full, whose weight has no limit',
    { ...due, target: { busy: true, weight: 90 } },
    'slot',
    null,
    /has 0 calls in flight of at most 1; it is sent/,
  ],
  [
    'target full, without weight',
    { ...due, target: { busy: true }, handler: { weightPerTarget: 100 } },
    'slot',
    null,
    /has 0 calls in flight/,
  ],
  [
    'target at a weight of 1',
    { ...due, target: { busy: true, weight: 1 }, handler: { weightPerTarget: 1 } },
    'weight',
    null,
    /has 1 of 1 weight in flight; it is sent/,
  ],
  [
    'some weight in flight, and room',
    { ...due, target: { dueInMs: -1, weight: 90 }, handler: { weightPerTarget: 100 } },
    'leader',
    0,
    atWork,
  ],
  ...['rate', SHARED_RATE].flatMap((heldBy): Case[] => [
    [`${heldBy}: over`, { ...due, leader: { heldBy, wakeInMs: 0 } }, 'leader', 0, atWork],
    [`${heldBy}: for 1 ms`, { ...due, leader: { heldBy, wakeInMs: 1 } }, 'hold', 1, /allows (it )?no call for 1 ms\.$/],
  ]),
  [
    'its own calls have ended since, and it looks later',
    { ...due, leader: { heldBy: OWN_CALLS, wakeInMs: 9_000 } },
    'slot',
    null,
    /it looks again when some of its calls have ended\.$/,
  ],
  [
    "others' calls have ended since, and the look is due",
    { ...due, leader: { heldBy: 'calls in flight of other leaders', wakeInMs: -5 } },
    'slot',
    0,
    /it looks again within 0 ms\.$/,
  ],
  [
    "others' calls have ended since, and no look is planned",
    { ...due, leader: { ...due.leader, heldBy: 'calls in flight of other leaders' } },
    'slot',
    null,
    /it looks again when some of its calls have ended\.$/,
  ],
  // Its batch.
  ['between two places', { state: 'batched' }, null, null, /^It was moving while this was read; explain it again\.$/],
  [
    'in a batch, and expires',
    { batch: {}, expiresAt: '2030-01-31T12:00:00.000Z' },
    'slot',
    0,
    /is waiting for a free call\.$/,
  ],
  ['paced for 1 ms', { batch: { retryInMs: 1 } }, 'hold', 1, /^Batch 7 starts in 1 ms/],
  ['at its deadline', batch({ dispatched: true, attemptEndsInMs: 0 }), 'call', 0, /has just passed its deadline/],
  ['its process died, 1 ms left', batch({ attemptEndsInMs: 1 }), 'retry', 1, /its deadline is in 1 ms/],
  ['refused once', batch({ retryInMs: 3_000, refusals: 1 }), 'retry', 3_000, /was refused for now\. The same batch/],
  [
    'refused, and so its target is held',
    { ...batch({ retryInMs: 900, refusals: 1, error: '429' }), target: { holdInMs: 900 } },
    'hold',
    900,
    /for 900 ms\. The last call of batch 7 was refused for now: 429\.$/,
  ],
  [
    'refused without an error',
    { ...batch({ retryInMs: 900, refusals: 1 }), target: { holdInMs: 900 } },
    'hold',
    900,
    /nothing is sent for 900 ms\.$/,
  ],
  [
    'failed, and its target is held for another',
    { ...batch({ retryInMs: 900, error: 'timed out' }), target: { holdInMs: 900 } },
    'hold',
    900,
    /nothing is sent for 900 ms\.$/,
  ],
  [
    'refused, then paused',
    { ...batch({ retryInMs: 900, refusals: 1, error: '429' }), target: { paused: true } },
    'pause',
    null,
    /It continues when resumed\.$/,
  ],
  [
    'as late as a record may be',
    batch({ dispatched: true, attemptEndsInMs: -5_000 }),
    'call',
    null,
    /its deadline passed 5 s ago, and it has no recorded outcome\. The node that makes it is not known\.$/,
  ],
  [
    'in a call of a process that is silent',
    batch({ dispatched: true, attemptEndsInMs: -5_000, attemptBy: 'n-1', nodeSeenMs: 15_000 }),
    'call',
    null,
    /15 s ago: the node hangs or is gone/,
  ],
  [
    'its handler threw',
    batch({ dispatched: true, attemptEndsInMs: 9_000, stack: 'Error: no\nat a\nat b\nat c' }),
    'call',
    9_000,
    /may take another 9 s\.\nThe handler threw:\n  Error: no\n  at a\n  at b$/,
  ],
  [
    'its handler threw before',
    { state: 'succeeded', attempts: 1, batch: { stack: 'Error' } },
    null,
    null,
    /^Succeeded after 1 counted attempt\.$/,
  ],
  ['parked, and its batch is gone', { state: 'unknown' }, 'resolve', null, /^Its batch was sent, .* unknown\. It is/],
  [
    'cancelled there',
    { state: 'cancelled', error: 'on request' },
    null,
    null,
    /^Cancelled after the downstream had accepted it: on request\.$/,
  ],
  // A batch that the downstream has accepted.
  ...(
    [
      [{ pollInMs: -5_000 }, '; the next poll is in 0 ms'],
      [{ pollInMs: -30_000 }, '; its next poll was due 30 s ago'],
      [{ pollInMs: -31_000, pollEndsInMs: -40_000 }, '; it is not polled: it is parked unless .* arrives within 0 ms'],
      [{ pollInMs: 0, readAgoMs: 100 }, '; the next poll is in 0 ms'],
    ] as const
  ).map(([given, text]): Case => [
    `accepted, ${JSON.stringify(given)}`,
    batch({ reference: 'r', ...given }),
    'poll',
    0,
    new RegExp(`accepted batch 7 as "r"${text}\\.$`),
  ]),
  [
    'accepted, read slowly for the first time',
    batch({ reference: 'r', pollInMs: 6_000, readAgoMs: 5_000 }),
    'poll',
    null,
    /: the last came 5 s ago\.$/,
  ],
];
