import { explain } from '../../workflows/planning/explain';
import type { BatchPart, ExplainFacts, QueuedPart } from '../../workflows/planning/explain/facts';
import { span } from '../../workflows/planning/explain/words';

type Parts = {
  [K in keyof ExplainFacts]?: ExplainFacts[K] extends object | null
    ? Partial<NonNullable<ExplainFacts[K]>> | null
    : ExplainFacts[K];
};

const QUEUED: QueuedPart = {
  ahead: 0,
  waiting: 2,
  oldestMs: 100,
  newestMs: 40,
  full: false,
  flushed: false,
  key: null,
  keyHolder: null,
};
const BATCH: BatchPart = {
  id: 7,
  n: 3,
  attempt: 0,
  dispatched: true,
  attemptBy: null,
  nodeSeenMs: null,
  attemptEndsInMs: null,
  retryInMs: null,
  reference: null,
  pollInMs: null,
  pollEndsInMs: null,
  refused: false,
  refusals: 0,
  error: null,
  stack: null,
  cancellation: null,
};

/**
 * A served handler with linger 250 ms, its leader waiting for the linger; a part that is given
 * replaces its fields.
 */
const facts = (parts: Parts): ExplainFacts => ({
  id: 't1',
  state: parts.state ?? (parts.batch === undefined || parts.batch === null ? 'created' : 'batched'),
  attempts: parts.attempts ?? 0,
  error: parts.error ?? null,
  handler: {
    name: 'orders',
    paused: false,
    pauseReason: null,
    holdInMs: null,
    perTarget: 1,
    perHandler: 8,
    slotsTaken: 0,
    weightPerTarget: null,
    served: true,
    ...parts.handler,
  },
  target: {
    key: 'se',
    paused: false,
    pauseReason: null,
    busy: false,
    holdInMs: null,
    dueInMs: 150,
    inFlight: 0,
    weight: 0,
    maxItems: 50,
    minItems: 1,
    lingerMs: 250,
    quietMs: null,
    ...parts.target,
  },
  leader: {
    name: '0',
    state: 'waiting',
    wakeInMs: 150,
    expiresInMs: 15_150,
    id: 1,
    blocked: false,
    heldBy: null,
    unansweredMs: null,
    runId: null,
    ...parts.leader,
  },
  queued: parts.queued === null || parts.queued === undefined ? null : { ...QUEUED, ...parts.queued },
  delayedInMs: parts.delayedInMs ?? null,
  batch: parts.batch === null || parts.batch === undefined ? null : { ...BATCH, ...parts.batch },
});

/** Due, and the leader is at work. */
const due = {
  queued: { oldestMs: 300 },
  target: { dueInMs: -50 },
  leader: { state: 'working', wakeInMs: null },
} as const;

const TABLE: [what: string, parts: Parts, waitsFor: string | null, nextStepInMs: number | null, text: RegExp][] = [
  // In the queue, not due.
  [
    'lingers',
    { queued: {} },
    'linger',
    150,
    /^2 of at most 50 tasks wait in target "se"; the batch closes in 150 ms, when the oldest of them has waited 250 ms \(linger\)/,
  ],
  [
    'quiet period',
    { queued: {}, target: { quietMs: 60 } },
    'quiet',
    20,
    /closes in 20 ms if no other arrives \(quiet period 60 ms\)/,
  ],
  ['quiet period beyond the linger', { queued: {}, target: { quietMs: 500 } }, 'linger', 150, /\(linger\)/],
  [
    'quiet, but too few',
    { queued: {}, target: { quietMs: 30, minItems: 5 } },
    'size',
    150,
    /a batch below 5 waits for more; it closes in 150 ms at the latest/,
  ],
  ['too few, others just arrived', { queued: {}, target: { quietMs: 60, minItems: 5 } }, 'linger', 150, /linger/],
  // Not before its time.
  [
    'notBefore',
    { delayedInMs: 5_000 },
    'delay',
    5_000,
    /^It was submitted to join no batch for another 5000 ms \(notBefore\)\.$/,
  ],
  [
    'backoff',
    { delayedInMs: 2_000.2, attempts: 2 },
    'retry',
    2_001,
    /^After 2 attempts it waits 2001 ms before it joins a new batch\.$/,
  ],
  ['notBefore, paused', { delayedInMs: 5_000, handler: { paused: true } }, 'pause', null, /paused/],
  ['notBefore beyond a hold', { delayedInMs: 5_000, handler: { holdInMs: 100 } }, 'delay', 5_000, /notBefore/],
  [
    'its time has come',
    { delayedInMs: -5, leader: { state: 'working', wakeInMs: null } },
    'leader',
    0,
    /^It is next for leader "0", which is at work now\.$/,
  ],
  // Stopped.
  [
    'handler paused',
    { queued: {}, handler: { paused: true, pauseReason: '401: bad key' } },
    'pause',
    null,
    /^Handler "orders" is paused: 401: bad key\. It goes on after a resume\.$/,
  ],
  ['target paused', { queued: {}, target: { paused: true } }, 'pause', null, /^Target "se" is paused\./],
  [
    'target paused for a reason',
    { queued: {}, target: { paused: true, pauseReason: 'invoice dispute' } },
    'pause',
    null,
    /^Target "se" is paused.*invoice dispute/,
  ],
  [
    'handler held',
    { queued: {}, handler: { holdInMs: 7_000 } },
    'hold',
    7_000,
    /^Handler "orders" is held back .* for 7000 ms\.$/,
  ],
  [
    'target held, longer',
    { queued: {}, handler: { holdInMs: 100 }, target: { holdInMs: 8_000 } },
    'hold',
    8_000,
    /^Target "se" is held back/,
  ],
  ['a hold that is over', { queued: {}, handler: { holdInMs: -5 }, target: { holdInMs: 0 } }, 'linger', 150, /linger/],
  // Keys.
  [
    'key held',
    { queued: { key: 'k', keyHolder: 't0' } },
    'key',
    null,
    /^Task "t0" has the same distinctBy key "k" and goes first/,
  ],
  // Due.
  ['due, the leader is at work', due, 'leader', 0, /^Its batch is next for leader "0", which is at work now\.$/],
  ['due by size', { ...due, queued: { waiting: 50 } }, 'leader', 0, /next for leader/],
  ['due by bytes', { ...due, queued: { full: true } }, 'leader', 0, /next for leader/],
  ['due by a flush', { ...due, queued: { flushed: true } }, 'leader', 0, /next for leader/],
  [
    'due by the quiet period',
    { ...due, queued: { newestMs: 70 }, target: { quietMs: 60, dueInMs: -1 } },
    'leader',
    0,
    /next for leader/,
  ],
  [
    'due, behind others',
    { ...due, queued: { ahead: 120, waiting: 50 } },
    'leader',
    0,
    /^Its batch behind 2 others of its target is next/,
  ],
  [
    'due, behind one',
    { ...due, queued: { ahead: 50, waiting: 50 } },
    'leader',
    0,
    /^Its batch behind another batch of its target is next/,
  ],
  [
    'due, the leader looks soon',
    { ...due, leader: { state: 'waiting', wakeInMs: 900 } },
    'leader',
    900,
    /looks again within 900 ms/,
  ],
  [
    'due, nobody told the leader',
    { ...due, leader: { state: 'idle', wakeInMs: null, expiresInMs: null } },
    'leader',
    null,
    /is idle and was not told: the sweeper/,
  ],
  ['due, woken a moment ago', { ...due, leader: { ...due.leader, unansweredMs: 9_000 } }, 'leader', 0, /at work now/],
  [
    'due, the leader stands still',
    {
      ...due,
      leader: {
        ...due.leader,
        unansweredMs: 95_000,
        workflowId: 'w/leader/orders/0',
        runId: 'r-1',
        run: { workflowId: 'w/leader/orders/0', runId: 'r-2', attempt: 12, lastFailure: 'TMPRL1100' },
      },
    },
    'leader',
    null,
    /leader "0" stands still: it was woken 95 s ago and has taken no turn since\. Workflow w\/leader\/orders\/0; its last turn was of run r-1, the workflow task of run r-2 is at attempt 12, which failed last with: TMPRL1100\. .*temporal workflow terminate --workflow-id "w\/leader\/orders\/0"/,
  ],
  [
    'it stands still, no run is open',
    {
      ...due,
      leader: {
        ...due.leader,
        unansweredMs: 95_000,
        workflowId: 'w',
        run: { workflowId: 'w', runId: null, attempt: null, lastFailure: null },
      },
    },
    'leader',
    null,
    /it has never taken one, and no run is open\./,
  ],
  [
    'it stands still, the wake is lost',
    {
      ...due,
      leader: {
        ...due.leader,
        unansweredMs: 95_000,
        workflowId: 'w',
        run: { workflowId: 'w', runId: 'r', attempt: null, lastFailure: null },
      },
    },
    'leader',
    null,
    /run r is open and has no workflow task: the wake did not reach it/,
  ],
  [
    'it stands still at a limit',
    {
      ...due,
      leader: { ...due.leader, unansweredMs: 95_000, heldBy: 'calls in flight' },
      target: { busy: true, dueInMs: null, inFlight: 1 },
    },
    'leader',
    null,
    /stands still/,
  ],
  [
    'it stands still with its batch',
    { batch: {}, leader: { ...due.leader, unansweredMs: 31_000 } },
    'leader',
    null,
    /^Batch 7 could go, but leader "0" stands still/,
  ],
  [
    'due, the leader is dead',
    { ...due, leader: { state: 'working', wakeInMs: null, expiresInMs: -4_000 } },
    'leader',
    null,
    /silent for 4000 ms past its lease: the sweeper of any worker wakes it/,
  ],
  ['due, never rung', { ...due, target: { dueInMs: null } }, 'leader', null, /has not been rung: the sweeper/],
  [
    'due, nobody serves it',
    { ...due, handler: { served: false } },
    'leader',
    null,
    /no live worker serves handler "orders"\. Start one/,
  ],
  // Limits.
  [
    'target at its calls',
    { ...due, target: { busy: true, dueInMs: null, inFlight: 1 } },
    'slot',
    null,
    /target "se" has 1 call in flight of at most 1;/,
  ],
  [
    'target at its weight',
    { ...due, target: { busy: true, dueInMs: null, weight: 90 }, handler: { weightPerTarget: 100 } },
    'weight',
    null,
    /has 90 of 100 weight in flight/,
  ],
  [
    'handler at its calls',
    { ...due, leader: { state: 'working', wakeInMs: null, heldBy: 'calls in flight' }, handler: { slotsTaken: 8 } },
    'slot',
    null,
    /handler "orders" are at their limit \(8 of 8\)/,
  ],
  [
    'other leaders have the calls',
    {
      ...due,
      leader: { blocked: true, wakeInMs: 9_000, heldBy: 'calls in flight of other leaders' },
      handler: { slotsTaken: 9 },
    },
    'slot',
    null,
    /at their limit/,
  ],
  [
    'calls have ended since, and nobody told the leader',
    { ...due, leader: { ...due.leader, heldBy: 'calls in flight' }, handler: { slotsTaken: 3 } },
    'slot',
    null,
    /^Its batch is due, but leader "0" found no free call of handler "orders" when it looked last \(3 of 8 are in flight now\); it looks again when it hears that calls of its own have ended\.$/,
  ],
  [
    "others' calls have ended since",
    {
      ...due,
      leader: { state: 'waiting', blocked: true, wakeInMs: 9_000, heldBy: 'calls in flight of other leaders' },
      handler: { slotsTaken: 3 },
    },
    'slot',
    9_000,
    /\(3 of 8 are in flight now\); it looks again within 9000 ms\.$/,
  ],
  [
    'handler at its weight',
    { ...due, leader: { blocked: true, wakeInMs: 9_000, heldBy: 'weight in flight' } },
    'weight',
    null,
    /weight in flight of handler "orders" is at its limit/,
  ],
  [
    'handler at its rate',
    { ...due, leader: { blocked: true, wakeInMs: 700, heldBy: 'rate' } },
    'hold',
    700,
    /rate limit of handler "orders" lets nothing start for 700 ms/,
  ],
  [
    'at a limit, as a dead leader last knew',
    { ...due, leader: { state: 'working', wakeInMs: null, heldBy: 'calls in flight', expiresInMs: -1 } },
    'leader',
    null,
    /sweeper/,
  ],
  // In a batch, not called yet.
  ['with a worker', { batch: {} }, 'slot', 0, /^Batch 7 \(3 tasks\) is with a worker and waits for its turn/],
  [
    'with a worker that is gone',
    { batch: {}, handler: { served: false } },
    'leader',
    null,
    /^Batch 7 could go, but no live worker serves/,
  ],
  ['paced', { batch: { retryInMs: 400 } }, 'hold', 400, /^Batch 7 starts in 400 ms, when the rate limit lets it\.$/],
  [
    'handed back',
    { batch: { dispatched: false }, target: { dueInMs: -1 }, leader: { state: 'working', wakeInMs: null } },
    'leader',
    0,
    /^Batch 7 is next for leader "0"/,
  ],
  ['handed back, paused', { batch: { dispatched: false }, handler: { paused: true } }, 'pause', null, /paused/],
  // Called.
  [
    'in a call',
    { state: 'in-progress', batch: { attempt: 1, attemptEndsInMs: 29_000 } },
    'call',
    29_000,
    /^It is in call 1 of batch 7 \(3 tasks\) to target "se", which may take 29 s more\.$/,
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
    /^Call 1 of batch 7 \(3 tasks\) to target "se" is overdue: its deadline passed 95 s ago, and nobody has concluded it\. Its node n-1 gave its last sign of life 2000 ms ago: it lives, so its handler hangs/,
  ],
  [
    'in a call of a process that hangs',
    { state: 'in-progress', batch: { attempt: 1, attemptEndsInMs: -95_000, attemptBy: 'n-1', nodeSeenMs: 120_000 } },
    'call',
    null,
    /node n-1 gave its last sign of life 120 s ago: it hangs or is gone\. Restart it/,
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
    'its process died in the call',
    { state: 'in-progress', batch: { attempt: 1, dispatched: false, attemptEndsInMs: 8_000, retryInMs: 8_000 } },
    'retry',
    8_000,
    /by a process that did not conclude it; after its deadline in 8000 ms/,
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
    /^Call 2 of batch 7 was refused for now: 429\. The same batch is sent again in 3000 ms\.$/,
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
    /accepted batch 7 as "job-9"; its status is asked again in 60 s\.$/,
  ],
  [
    'accepted, not asked about in time',
    {
      state: 'in-progress',
      batch: { attempt: 1, dispatched: false, reference: 'job-9', pollInMs: -60_000, pollEndsInMs: 90_000 },
    },
    'poll',
    0,
    /its status was to be asked again 60 s ago\.$/,
  ],
  [
    'accepted, asked about',
    {
      state: 'in-progress',
      batch: { attempt: 1, dispatched: false, reference: 'job-9', pollInMs: 60_000, pollEndsInMs: 90_000 },
    },
    'poll',
    60_000,
    /asked again in 60 s\.$/,
  ],
  [
    'accepted, to be told',
    {
      state: 'in-progress',
      batch: { attempt: 1, dispatched: false, reference: 'job-9', pollInMs: 60_000, pollEndsInMs: 60_000 },
    },
    'poll',
    60_000,
    /accepted batch 7 as "job-9"; nobody asks about it: it is parked if its completion is not told within 60 s\.$/,
  ],
  [
    'accepted, nobody asks',
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
    /was refused: 422\. What becomes of it depends on the other half/,
  ],
  // Over, or in somebody's hands.
  [
    'parked',
    { state: 'unknown', batch: { attempt: 1, error: 'timed out' } },
    'resolve',
    null,
    /^Its batch 7 was called, .* unknown: timed out\. It is parked: resolve it by hand, or redrive it\.$/,
  ],
  ['succeeded', { state: 'succeeded', attempts: 1 }, null, null, /^Succeeded after 1 counted attempt\.$/],
  [
    'failed',
    { state: 'failed', attempts: 2, error: '422: no such item' },
    null,
    null,
    /^Failed for good after 2 counted attempts: 422: no such item\. It can be redriven\.$/,
  ],
  ['dead', { state: 'dead', attempts: 5, error: 'busy' }, null, null, /^Dead: its attempts are used up \(5\): busy\./],
  ['cancelled', { state: 'cancelled' }, null, null, /^Cancelled: the downstream does not have it\.$/],
];

test.each(TABLE)('G13: %s', (_, parts, waitsFor, nextStepInMs, text) => {
  const given = facts(parts);
  const answer = explain(given);
  expect(answer).toMatchObject({ id: 't1', state: given.state, waitsFor, nextStepInMs });
  expect(answer.text).toMatch(text);
  expect(answer.facts).toBe(given);
});

test('G13: every reason there is to wait is in the table', () => {
  const all = [
    'linger',
    'quiet',
    'size',
    'delay',
    'pause',
    'hold',
    'leader',
    'slot',
    'key',
    'weight',
    'call',
    'retry',
    'poll',
    'resolve',
    null,
  ];
  expect(new Set(TABLE.map(([, , waitsFor]) => waitsFor))).toEqual(new Set(all));
});

test.each([
  [-3, '0 ms'],
  [0.2, '1 ms'],
  [9_999, '9999 ms'],
  [10_000, '10 s'],
  [599_000, '599 s'],
  [600_000, '10 min'],
  [36_000_000, '10 h'],
])('a span of %d ms reads %s', (ms, text) => expect(span(ms)).toBe(text));
