import { isSaturated, pendingLimitOf } from '../../../workflows/planning/lanes/backPressure';
import { whyNotCancelled } from '../../../workflows/planning/lanes/cancel';
import { OVERDUE_MAX, parkedAtDeadline } from '../../../workflows/planning/lanes/pendingDeadline';
import * as limits from '../../../workflows/planning/lanes/limits';
import { UNLIMITED_CALLS } from '../../../workflows/planning/lanes/tokens';
import { DELAY_MS, nextTry, TRIES_MAX } from '../../../workflows/planning/lanes/tries';
import { decideUnknown, LOOK_UPS_MAX, type UnknownFacts } from '../../../workflows/planning/lanes/unknown';

describe('table: 503, 503, 200', () => {
  test('waits 250 ms and 500 ms more each, at most 10 tries, then is delayed for 15 s', () => {
    const waits = Array.from({ length: 10 }, (_, at) => nextTry(at + 1));
    expect(waits.slice(0, 3)).toEqual([250, 750, 1_250].map((inMs) => ({ kind: 'try-again', inMs })));
    expect(waits[8]).toEqual({ kind: 'try-again', inMs: 4_250 });
    expect(waits[9]).toEqual({ kind: 'delay', inMs: DELAY_MS });
    expect([TRIES_MAX, DELAY_MS]).toEqual([10, 15_000]);
  });

  test('what the downstream asks for counts where it is longer', () => {
    expect(nextTry(1, 3_000)).toEqual({ kind: 'try-again', inMs: 3_000 });
    expect(nextTry(3, 10)).toEqual({ kind: 'try-again', inMs: 1_250 });
    expect(nextTry(10, 60_000)).toEqual({ kind: 'delay', inMs: 60_000 });
  });
});

describe('table: pending limit', () => {
  test('stops at 30 and goes on below 15; between, as it was [C14]', () => {
    const at = (pending: number, was: boolean) => isSaturated(pending, pendingLimitOf(30), was);
    expect([at(29, false), at(30, false), at(29, true), at(15, true), at(14, true)]).toEqual([
      false,
      true,
      true,
      true,
      false,
    ]);
    expect(isSaturated(1e6, null, true)).toBe(false);
    expect([1, 2, 31, null].map(pendingLimitOf)).toEqual([
      { stopAt: 1, resumeBelow: 1 },
      { stopAt: 2, resumeBelow: 1 },
      { stopAt: 31, resumeBelow: 16 },
      null,
    ]);
  });
});

describe('an unknown outcome [C28]', () => {
  const decide = (facts: Partial<UnknownFacts>) =>
    decideUnknown({ idempotent: false, canReconcile: true, found: null, lookUps: 1, ...facts });

  test('is looked up first, where that can be done, also if idempotent', () => {
    expect(decide({})).toEqual({ kind: 'look-up' });
    expect(decide({ idempotent: true })).toEqual({ kind: 'look-up' });
  });

  test('is what was found; absent goes again at the front', () => {
    expect(decide({ found: 'done' })).toEqual({ kind: 'settle' });
    expect(decide({ found: 'accepted' })).toEqual({ kind: 'pending' });
    expect(decide({ found: 'absent' })).toEqual({ kind: 'unsubmitted', because: 'absent' });
  });

  test('unsure: sent again only if idempotent; else looked up some times, then parked', () => {
    expect(decide({ found: 'unsure', idempotent: true })).toEqual({ kind: 'unsubmitted', because: 'idempotent' });
    expect(decide({ found: 'unsure' })).toEqual({ kind: 'wait', inMs: 2_000 });
    expect(decide({ found: 'unsure', lookUpAgainMs: 700 })).toEqual({ kind: 'wait', inMs: 700 });
    expect(decide({ found: 'unsure', lookUps: 2, lookUpsMax: 2 })).toMatchObject({ kind: 'park' });
    expect(decide({ found: 'unsure', lookUps: 6, lookUpsMax: 7 })).toMatchObject({ kind: 'wait' });
    expect(decide({ found: 'unsure', lookUps: LOOK_UPS_MAX })).toMatchObject({
      kind: 'park',
      reason: expect.stringContaining('unknown: 5 look-ups'),
    });
  });

  test('without a look-up: idempotent goes again, anything else halts its lane and is never sent blindly', () => {
    expect(decide({ canReconcile: false, idempotent: true })).toEqual({ kind: 'unsubmitted', because: 'idempotent' });
    expect(decide({ canReconcile: false })).toMatchObject({
      kind: 'park',
      reason: expect.stringMatching(/^unknown: /),
    });
  });
});

test('pending past its deadline: unknown, and after some deadlines its lane is parked and says so [C9]', () => {
  for (let overdue = 1; overdue < OVERDUE_MAX; overdue++) expect(parkedAtDeadline(overdue, OVERDUE_MAX)).toBeNull();
  expect(parkedAtDeadline(OVERDUE_MAX, OVERDUE_MAX)).toBe(
    'pending for too long: it passed its deadline 3 times without an end',
  );
  expect(parkedAtDeadline(1, 1)).toBe('pending for too long: it passed its deadline 1 time without an end');
});

const FREE = { calling: false, unsure: false };
test.each([
  ['unsubmitted', FREE, null],
  ['delayed', FREE, null],
  ['refused', FREE, null],
  ['submitted', FREE, null],
  ['unsubmitted', { calling: true, unsure: false }, /^an earlier call of it may have been applied/],
  ['delayed', { calling: false, unsure: true }, /^an earlier call of it may have been applied/],
  ['submitted', { calling: true, unsure: false }, /^a call with it is in flight/],
  ['submitted', { calling: true, unsure: true }, /^a call with it is in flight/],
  ['submitted', { calling: false, unsure: true }, /^an earlier call of it may have been applied/],
  ['pending', FREE, /accepted it/],
  ['valid', FREE, /accepted it/],
  ['unknown', FREE, /may have been applied; it will be looked up/],
  ['parked', FREE, /its lane is halted/],
  ['committed', FREE, /was applied/],
  ['invalid', FREE, /refused it permanently/],
  ['skipped', FREE, /continued its lane without it/],
  ['failed-dependency', FREE, /failed without being sent/],
  ['cancelled', FREE, /cancelled already/],
] as const)('what cannot be cancelled says why: %s, %j', (status, facts, why) => {
  const told = whyNotCancelled({ status, ...facts });
  if (why === null) expect(told).toBeNull();
  else expect(told).toMatch(why);
});

test('what callers may set of lanes', () => {
  expect(limits).toEqual({
    BATCH_ITEMS_MAX: 10_000,
    STATE_KEYS_MAX: 1_000,
    STATE_KEY_BYTES_MAX: 256,
    DEPENDENCIES_MAX: 1_000,
    BATCH_KEY_BYTES_MAX: 256,
    SERVICE_BYTES_MAX: 512,
    WEIGHT_MAX: 10_000,
    SLOTS_MAX: 1_000,
    DEPTH_MAX: 1_000,
    LISTED_AGE_MAX_MS: 2 ** 31 - 1,
  });
  expect(UNLIMITED_CALLS).toBeGreaterThan(limits.SLOTS_MAX);
});
