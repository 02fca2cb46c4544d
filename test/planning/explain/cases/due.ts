import type { Case } from './facts';

/** Due, and the leader is at work. */
const due = {
  queued: { oldestMs: 300 },
  target: { dueInMs: -50 },
  leader: { state: 'working', wakeInMs: null },
} as const;

/** A task that is due, and what its leader makes of it. */
export const DUE_CASES: Case[] = [
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
    /is idle and was not woken: any worker's sweeper/,
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
    new RegExp(
      'leader "0" has stalled: it was woken 95 s ago and has taken no turn since\\. Workflow w/leader/orders/0; ' +
        'its last turn was in run r-1, the workflow task of run r-2 is at attempt 12, which failed last with: ' +
        'TMPRL1100\\. .*temporal workflow terminate --workflow-id "w/leader/orders/0"',
    ),
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
    /it has never taken a turn, and no run is open\./,
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
    /has stalled/,
  ],
  [
    'it stands still with its batch',
    { batch: {}, leader: { ...due.leader, unansweredMs: 31_000 } },
    'leader',
    null,
    /^Batch 7 is ready, but leader "0" has stalled/,
  ],
  [
    'due, the leader is dead',
    { ...due, leader: { state: 'working', wakeInMs: null, expiresInMs: -4_000 } },
    'leader',
    null,
    /silent for 4 s past its lease: the sweeper of any worker wakes it, unless all are stopped or overloaded\.$/,
  ],
  [
    'due, never rung',
    { ...due, target: { dueInMs: null } },
    'leader',
    null,
    /was not notified about target "[^"]+": any worker's sweeper/,
  ],
  [
    'due, nobody serves it',
    { ...due, handler: { served: false } },
    'leader',
    null,
    /no live worker serves handler "orders"\. Start a worker/,
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
    /^Its batch is due, but leader "0" found no free call of handler "orders" when it looked last \(3 of 8 are in flight now\); it looks again when some of its calls have ended\.$/,
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
    /\(3 of 8 are in flight now\); it looks again within 9 s\.$/,
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
    /rate limit of handler "orders" allows no call for 700 ms/,
  ],
  [
    'handler at its rate, on late timers',
    { ...due, leader: { blocked: true, wakeInMs: 700, heldBy: 'rate' }, timersLateMs: 900 },
    'hold',
    700,
    /allows no call for 700 ms\. Calls may begin 900 ms later than that \(the server's timers fire up to 900 ms late\)\.$/,
  ],
  [
    'handler at the rate that it shares, on late timers',
    {
      ...due,
      handler: { sharesLimit: 'key-1' },
      leader: { blocked: true, wakeInMs: 700, heldBy: 'shared rate' },
      timersLateMs: 900,
    },
    'hold',
    700,
    /^Its batch is due, but limit "key-1", .* for 700 ms\. Calls may begin 900 ms later than that/,
  ],
  [
    'at a limit, as a dead leader last knew',
    { ...due, leader: { state: 'working', wakeInMs: null, heldBy: 'calls in flight', expiresInMs: -1 } },
    'leader',
    null,
    /sweeper/,
  ],
];
