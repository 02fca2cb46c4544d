import { isEnded, statusName, STATUSES, type LaneBatchStatus } from '../../../workflows/planning/lanes/statuses';
import { ALL_STATUSES, checkTransition, mayBecome } from './model/transitions';

test('the numbers of statuses are names again, and no other number is [C20]', () => {
  for (const status of ALL_STATUSES) expect(statusName(STATUSES[status])).toBe(status);
  expect(() => statusName(9)).toThrow(/expected one of 0, 1, .* got 9/);
});

test('five statuses are ends [C11]', () => {
  expect(ALL_STATUSES.filter(isEnded)).toEqual(['committed', 'invalid', 'skipped', 'failed-dependency', 'cancelled']);
});

/** The table that the model holds the planner against must itself be what the spec says. */
describe("the model's transitions", () => {
  test('an ended one never changes again, an invalid one least of all [C11]', () => {
    for (const from of ALL_STATUSES.filter(isEnded))
      for (const to of ALL_STATUSES) expect(mayBecome(from, to)).toBe(false);
    expect(() => checkTransition('invalid', 'unsubmitted')).toThrow(
      'lane batch status: after invalid expected nothing, it has ended; got unsubmitted',
    );
  });

  test('an unknown one may become any end or go again, but is never skipped without being parked [C20 C28]', () => {
    expect(() => checkTransition('unknown', 'unsubmitted')).not.toThrow();
    expect(() => checkTransition('unknown', 'committed')).not.toThrow();
    expect(() => checkTransition('unknown', 'skipped')).toThrow(/after unknown expected submitted, .*; got skipped/);
  });

  test('every open status leads to an end [C9 C10]', () => {
    const reached = new Set<LaneBatchStatus>(ALL_STATUSES.filter(isEnded));
    for (const _ of ALL_STATUSES)
      for (const from of ALL_STATUSES)
        if (ALL_STATUSES.some((to) => reached.has(to) && mayBecome(from, to))) reached.add(from);
    expect([...reached].sort()).toEqual([...ALL_STATUSES].sort());
  });

  test('only waiting, delayed and unknown ones are granted; only one never accepted fails for a dependency [C26]', () => {
    const before = (to: LaneBatchStatus) => ALL_STATUSES.filter((from) => mayBecome(from, to));
    expect(before('submitted')).toEqual(['unsubmitted', 'delayed', 'unknown']);
    expect(before('failed-dependency')).toEqual(['unsubmitted', 'delayed']);
  });
});
