import type { Case } from './facts';

/** A task in a batch, in a call, or over. */
export const BATCHED_CASES: Case[] = [
  // In a batch, not called yet.
  ['with a worker', { batch: {} }, 'slot', 0, /^Batch 7 \(3 tasks\) is with a worker and is waiting for a free call/],
  [
    'with a worker that is gone',
    { batch: {}, handler: { served: false } },
    'leader',
    null,
    /^Batch 7 is ready, but no live worker serves/,
  ],
  ['paced', { batch: { retryInMs: 400 } }, 'hold', 400, /^Batch 7 starts in 400 ms, when the rate limit lets it\.$/],
  [
    'handed back',
    { batch: { dispatched: false }, target: { dueInMs: -1 }, leader: { state: 'working', wakeInMs: null } },
    'leader',
    0,
    /^Batch 7 is next for leader "0"/,
  ],
  [
    'handed back, its leader is about to look',
    { batch: { dispatched: false }, target: { dueInMs: -1 }, leader: { wakeInMs: 0 } },
    'leader',
    0,
    /which is at work now\.$/,
  ],
  ['to start now', { batch: { retryInMs: 0 } }, 'slot', 0, /waiting for a free call/],
  [
    'in the last millisecond of its call',
    { state: 'in-progress', batch: { attempt: 1, attemptEndsInMs: 0.5 } },
    'call',
    1,
    /which may take another 1 ms\.$/,
  ],
  [
    'its process died, to be sent again after its deadline',
    { state: 'in-progress', batch: { attempt: 1, dispatched: false, attemptEndsInMs: 8_000, retryInMs: 9_000 } },
    'retry',
    9_000,
    /its deadline is in 9 s/,
  ],
  ['handed back, paused', { batch: { dispatched: false }, handler: { paused: true } }, 'pause', null, /paused/],
  // Called.
  [
    'in a call',
    { state: 'in-progress', batch: { attempt: 1, attemptEndsInMs: 29_000 } },
    'call',
    29_000,
    /^It is in call 1 of batch 7 \(3 tasks\) to target "se", which may take another 29 s\.$/,
  ],
  [
    'in a call that has just passed its deadline',
    { state: 'in-progress', batch: { attempt: 1, attemptEndsInMs: -800 } },
    'call',
    0,
    /^Call 1 of batch 7 .* has just passed its deadline/,
  ],
  [
    'in a call of a handler that hangs',
    { state: 'in-progress', batch: { attempt: 1, attemptEndsInMs: -95_000, attemptBy: 'n-1', nodeSeenMs: 2_000 } },
    'call',
    null,
    new RegExp(
      '^Call 1 of batch 7 \\(3 tasks\\) to target "se" is overdue: its deadline passed 95 s ago, and it has no ' +
        'recorded outcome\\. Its node n-1 sent its last heartbeat 2 s ago: the node is alive, so its handler hangs',
    ),
  ],
  [
    'in a call of a process that hangs',
    { state: 'in-progress', batch: { attempt: 1, attemptEndsInMs: -95_000, attemptBy: 'n-1', nodeSeenMs: 120_000 } },
    'call',
    null,
    /node n-1 sent its last heartbeat 120 s ago: the node hangs or is gone\. Restart it/,
  ],
  [
    'in a call of a process that is gone',
    { state: 'in-progress', batch: { attempt: 1, attemptEndsInMs: -95_000, attemptBy: 'n-1' } },
    'call',
    null,
    /Its node n-1 is gone; the leader takes the batch over/,
  ],
  [
    'in a call, paused meanwhile',
    { state: 'in-progress', batch: { attempt: 1, attemptEndsInMs: 100 }, handler: { paused: true } },
    'call',
    100,
    /in call 1/,
  ],
  [
    'its process died during or around the call',
    { state: 'in-progress', batch: { attempt: 1, dispatched: false, attemptEndsInMs: 8_000, retryInMs: 8_000 } },
    'retry',
    8_000,
    /by a process that did not conclude it; its deadline is in 8 s/,
  ],
  [
    'its process died, deadline over',
    {
      state: 'in-progress',
      batch: { attempt: 1, dispatched: false, attemptEndsInMs: -5 },
      target: { dueInMs: -5 },
      leader: { state: 'working', wakeInMs: null },
    },
    'leader',
    0,
    /did not conclude it\. It is next for leader/,
  ],
  [
    'refused for now',
    { state: 'in-progress', batch: { attempt: 2, dispatched: false, retryInMs: 3_000, refusals: 2, error: '429' } },
    'retry',
    3_000,
    /^Call 2 of batch 7 was refused for now: 429\. The same batch is sent again in 3 s\.$/,
  ],
  [
    'sent again, on late timers',
    { state: 'in-progress', batch: { attempt: 1, retryInMs: 500, error: 'timed out' }, timersLateMs: 1_000 },
    'retry',
    500,
    /is sent again in 500 ms\. Within 1 s after that \(the server's timers fire up to 1 s late\)\.$/,
  ],
  [
    'sent again after an unknown outcome',
    { state: 'in-progress', batch: { attempt: 1, retryInMs: 500, error: 'timed out' } },
    'retry',
    500,
    /^Call 1 of batch 7 had no known outcome: timed out\. The same/,
  ],
  [
    'refused, and the target is held',
    {
      state: 'in-progress',
      batch: { attempt: 1, dispatched: false, retryInMs: 900, refusals: 1 },
      target: { holdInMs: 900 },
    },
    'hold',
    900,
    /held back/,
  ],
  [
    'accepted',
    { state: 'in-progress', batch: { attempt: 1, dispatched: false, reference: 'job-9', pollInMs: 60_000 } },
    'poll',
    60_000,
    /accepted batch 7 as "job-9"; the next poll is in 60 s\.$/,
  ],
  [
    'accepted, not asked about in time',
    {
      state: 'in-progress',
      batch: { attempt: 1, dispatched: false, reference: 'job-9', pollInMs: -29_000, pollEndsInMs: 90_000 },
    },
    'poll',
    0,
    /its next poll was due 29 s ago\.$/,
  ],
  [
    'accepted, not asked about for long',
    {
      state: 'in-progress',
      batch: { attempt: 1, dispatched: false, reference: 'job-9', pollInMs: -31_000, pollEndsInMs: 90_000 },
    },
    'poll',
    0,
    /its next poll was due 31 s ago and is overdue: its monitor does not poll\.$/,
  ],
  [
    'accepted, asked about',
    {
      state: 'in-progress',
      batch: { attempt: 1, dispatched: false, reference: 'job-9', pollInMs: 60_000, pollEndsInMs: 90_000 },
    },
    'poll',
    60_000,
    /the next poll is in 60 s\.$/,
  ],
  ...(
    [
      ['accepted, being read', 4_000, 'its results are being read'],
      ['accepted, read slowly', 59_000, 'its results are being read: the last came 59 s ago'],
      [
        'accepted, its read hangs',
        60_000,
        'the read of its results has stalled: none has come for 60 s. It is given up after poll.idleMs without one, ' +
          'and the batch is polled again; check the downstream, and what reads from it',
      ],
    ] as const
  ).map(([what, readAgoMs, text]): Case => [
    what,
    { state: 'in-progress', batch: { attempt: 2, dispatched: false, reference: 'r', pollInMs: 6_000, readAgoMs } },
    'poll',
    null,
    new RegExp(`accepted batch 7 as "r"; ${text.replaceAll(/[().]/g, '\\$&')}\\.$`),
  ]),
  [
    'accepted, its lease at its end',
    { state: 'in-progress', batch: { attempt: 2, dispatched: false, reference: 'r', pollInMs: 1, readAgoMs: 100 } },
    'poll',
    null,
    /; its results are being read\.$/,
  ],
  [
    'accepted, read before, not polled any more',
    { state: 'in-progress', batch: { attempt: 2, dispatched: false, reference: 'r', pollInMs: null, readAgoMs: 100 } },
    'poll',
    null,
    /accepted batch 7 as "r"\.$/,
  ],
  [
    'accepted, whose reader died',
    {
      state: 'in-progress',
      batch: { attempt: 2, dispatched: false, reference: 'r', pollInMs: -6_000, readAgoMs: 70_000 },
    },
    'poll',
    0,
    /its next poll was due 6 s ago\.$/,
  ],
  [
    'accepted, to be told',
    {
      state: 'in-progress',
      batch: { attempt: 1, dispatched: false, reference: 'job-9', pollInMs: 60_000, pollEndsInMs: 60_000 },
    },
    'poll',
    60_000,
    /accepted batch 7 as "job-9"; it is not polled: it is parked unless its completion arrives within 60 s\.$/,
  ],
  [
    'accepted, not polled',
    { state: 'in-progress', batch: { attempt: 1, dispatched: false, reference: 'job-9' } },
    'poll',
    null,
    /accepted batch 7 as "job-9"\.$/,
  ],
  [
    'its other half is not known',
    { state: 'in-progress', batch: { attempt: 1, dispatched: false, refused: true, error: '422' } },
    'call',
    null,
    /was refused: 422\. Its outcome depends on the other half/,
  ],
  // Over, or in somebody's hands.
  [
    'parked',
    { state: 'unknown', batch: { attempt: 1, error: 'timed out' } },
    'resolve',
    null,
    /^Its batch 7 was sent, .* unknown: timed out\. It is parked: resolve it manually, or redrive it\.$/,
  ],
  ['succeeded', { state: 'succeeded', attempts: 1 }, null, null, /^Succeeded after 1 counted attempt\.$/],
  [
    'failed',
    { state: 'failed', attempts: 2, error: '422: no such item' },
    null,
    null,
    /^Failed permanently after 2 counted attempts: 422: no such item\. It can be redriven\.$/,
  ],
  ['dead', { state: 'dead', attempts: 5, error: 'busy' }, null, null, /^Dead: its attempts are used up \(5\): busy\./],
  ['cancelled', { state: 'cancelled' }, null, null, /^Cancelled before it reached the downstream\.$/],
];
