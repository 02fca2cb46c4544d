import type { RoundFacts } from '../../../workflows/planning/nodes/rounds';
import { nextRoundInMs } from '../../../workflows/planning/nodes/rounds';

const times = { shutdownLimitMs: 5_000, minimumHoldMs: 3_000, leaseMs: 10_000, by: 'count' as const };
const held: RoundFacts = {
  holder: 'a',
  expired: false,
  holderAlive: true,
  leftMs: 9_000,
  heldMs: 60_000,
  revokedMs: null,
  keptLeftMs: null,
};
const nothing = { asked: 0, given: 0, missed: 0 };
const cases: [what: string, facts: Partial<RoundFacts>, wrote: Partial<typeof nothing>, inMs: number | null][] = [
  ['all as it should be: not at all', {}, {}, null],
  ['something was given out: at once', {}, { given: 1 }, 0],
  ['something could not be written: soon', {}, { missed: 1 }, 250],
  ['something was asked back: when its time is over', {}, { asked: 1 }, 5_020],
  ['asked back earlier: what is left of its time', { revokedMs: 2_000 }, {}, 3_020],
  ['asked back, and over time: at once', { revokedMs: 7_000 }, {}, 20],
  ['B16: its holder is silent: when the lease has passed', { holderAlive: false, leftMs: 4_000 }, {}, 4_020],
  ['its lease ends in 1 ms', { holderAlive: false, leftMs: 1 }, {}, 21],
  ['its lease ends now', { holderAlive: false, leftMs: 0 }, {}, 2_520],
  ['it has passed while the store was away: a part of a lease later', { holderAlive: false, leftMs: -50 }, {}, 2_520],
  [
    'expired, and nobody is able to have it: whoever comes says so',
    { expired: true, holderAlive: false, leftMs: -50 },
    {},
    null,
  ],
  ['B13: too young to be moved: when it is old enough', { heldMs: 1_000 }, {}, 2_020],
  ['kept for a node that restarts: when that is over', { holder: null, keptLeftMs: 7_000 }, {}, 7_020],
  ['nobody has it', { holder: null, expired: true }, {}, null],
];

test.each(cases)('the next round: %s', (_, facts, wrote, inMs) => {
  expect(nextRoundInMs([held, { ...held, ...facts }], { ...nothing, ...wrote }, times)).toBe(inMs);
});

test('a fleet with more partitions than a call may have arguments', () => {
  const young = Array.from({ length: 300_000 }, () => ({ ...held, heldMs: 1_000 }));
  expect(nextRoundInMs(young, nothing, times)).toBe(2_020);
});

test('by load it looks once a minute, where there is anything at all [B17]', () => {
  expect(nextRoundInMs([held], nothing, { ...times, by: 'load' })).toBe(60_020);
  expect(nextRoundInMs([], nothing, { ...times, by: 'load' })).toBeNull();
});
