import {
  checkTransition,
  fromStatuses,
  isEnded,
  mayBecome,
  statusName,
  STATUSES,
  TRANSITIONS,
  type SubmissionStatus,
} from '../../../workflows/planning/lanes/statuses';

const all = Object.keys(STATUSES) as SubmissionStatus[];

describe('statuses of a submission', () => {
  test('C20: their numbers are names again, and no other number is', () => {
    for (const status of all) expect(statusName(STATUSES[status])).toBe(status);
    expect(() => statusName(9)).toThrow(/expected one of 0, 1, .* got 9/);
  });

  test('C11: an ended one never changes again, an invalid one least of all', () => {
    for (const from of all.filter(isEnded)) for (const to of all) expect(mayBecome(from, to)).toBe(false);
    expect(all.filter(isEnded)).toEqual(['committed', 'invalid', 'skipped', 'failed-dependency', 'cancelled']);
    expect(() => checkTransition('invalid', 'unsubmitted')).toThrow(
      'submission status: after invalid expected nothing, it has ended; got unsubmitted',
    );
  });

  test('C20, C28: an unknown one may become any end or go again, but is never skipped without being parked', () => {
    expect(() => checkTransition('unknown', 'unsubmitted')).not.toThrow();
    expect(() => checkTransition('unknown', 'committed')).not.toThrow();
    expect(() => checkTransition('unknown', 'skipped')).toThrow(/after unknown expected submitted, .*; got skipped/);
  });

  test('C9, C10: every open status leads to an end', () => {
    const reached = new Set<SubmissionStatus>(all.filter(isEnded));
    for (const _ of all) for (const from of all) if (TRANSITIONS[from].some((to) => reached.has(to))) reached.add(from);
    expect([...reached].sort()).toEqual([...all].sort());
  });

  test('C26: only waiting, delayed and unknown ones are granted; only one never granted fails for a dependency', () => {
    expect(fromStatuses('submitted')).toEqual([STATUSES.unsubmitted, STATUSES.delayed, STATUSES.unknown]);
    expect(fromStatuses('failed-dependency')).toEqual([STATUSES.unsubmitted]);
  });
});
