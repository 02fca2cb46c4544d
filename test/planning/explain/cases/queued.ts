import type { Case } from './facts';

/** A task in the queue that is not due, or may not go. */
export const QUEUED_CASES: Case[] = [
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
  ['notBefore', { delayedInMs: 5_000 }, 'delay', 5_000, /^It joins no batch for another 5 s \(notBefore\)\.$/],
  [
    'backoff',
    { delayedInMs: 2_000.2, attempts: 2 },
    'retry',
    2_001,
    /^After 2 attempts it waits 2 s before it joins a new batch\.$/,
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
    /^Handler "orders" is paused: 401: bad key\. It continues when resumed\.$/,
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
    /^Handler "orders" is held back .* for 7 s\.$/,
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
];
