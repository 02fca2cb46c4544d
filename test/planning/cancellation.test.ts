import {
  CANCELLATION_CAUSES,
  CANCELLATION_STATES,
  cancelAgainMs,
  cancellationText,
  givesUp,
  sendNothingAgain,
  shownCancellation,
} from '../../workflows/planning/calls/cancellation';
import type { CancellationFacts } from '../../workflows/planning/calls/cancellation';
import type { CallOutcome, Settlement } from '../../workflows/planning/calls/plans';

const finish = (
  ends: Extract<Settlement, { kind: 'finish' }>['ends'],
  unknown: 'park' | 'resend' | 'reconcile' = 'park',
) => ({ kind: 'finish', state: 'succeeded', ends, unknown }) as const;
const cancelledEnd = (index: number, error: string) => ({ index, to: 'cancelled', error });

describe('after a caller has cancelled an accepted batch, nothing of it is sent again', () => {
  const results: CallOutcome = { kind: 'results', deviants: [] };
  const later: Settlement = { kind: 'wait', inMs: 5, hold: 'target', inPlace: false, error: '429' };
  test.each<[string, CallOutcome, Settlement, boolean, object]>([
    ['all done', results, finish([]), false, finish([])],
    [
      'some not done: cancelled, with an attempt left or without',
      results,
      finish([
        { index: 0, to: 'retry', inMs: 5, error: 'a' },
        { index: 1, to: 'dead', error: 'b' },
        { index: 2, to: 'failed', error: 'c' },
      ]),
      false,
      finish([cancelledEnd(0, 'a'), cancelledEnd(1, 'b'), { index: 2, to: 'failed', error: 'c' }] as never),
    ],
    [
      'some unknown: parked, neither sent nor looked up',
      results,
      finish([{ index: 0, to: 'unknown', error: 'a' }], 'resend'),
      false,
      finish([{ index: 0, to: 'unknown', error: 'a' }]),
    ],
    ['refused for now: asked again', { kind: 'later', scope: 'target', error: '429' }, later, false, later],
    [
      'refused as a whole: not bisected',
      { kind: 'rejected', error: 'no' },
      { kind: 'split', at: 1, error: 'no' },
      false,
      { kind: 'finish', state: 'failed', error: 'no', ends: [cancelledEnd(0, 'no'), cancelledEnd(1, 'no')] },
    ],
    [
      'absent: nothing was applied',
      { kind: 'unknown', error: 'gone' },
      { kind: 'resend', inMs: 1, error: 'gone' },
      true,
      { kind: 'finish', state: 'failed', ends: [cancelledEnd(0, 'gone'), cancelledEnd(1, 'gone')] },
    ],
    [
      'unknown: parked whatever the policy',
      { kind: 'unknown', error: '?' },
      { kind: 'resend', inMs: 1, error: '?' },
      false,
      { kind: 'park', error: '?' },
    ],
  ])('%s', (_, outcome, settlement, absent, expected) =>
    expect(sendNothingAgain(settlement, outcome, { members: 2, absent })).toMatchObject(expected),
  );
});

const park: Settlement = { kind: 'park', error: '' };
const resend: Settlement = { kind: 'resend', inMs: 0, error: '' };
const FACTS = { overdue: true, absent: false, idempotency: 'none' } as const;
test.each<[string, Settlement, Partial<Parameters<typeof givesUp>[1]>, boolean]>([
  ['parked at its deadline', park, {}, true],
  ['parked before its deadline', park, { overdue: false }, false],
  ['sent again without a key', resend, {}, true],
  ['sent again under its key: it may be the same one there', resend, { idempotency: { by: 'batch' } }, false],
  ['absent', resend, { absent: true }, false],
  ['its unknown members go again without a key', finish([], 'resend'), {}, true],
  ['done', finish([]), {}, false],
])('given up: %s', (_, settlement, facts, expected) =>
  expect(givesUp(settlement, { ...FACTS, ...facts })).toBe(expected),
);

test('asked again after a second, doubling up to ten minutes', () => {
  expect([1, 2, 3, 20].map(cancelAgainMs)).toEqual([1_000, 2_000, 4_000, 600_000]);
});

test('what was confirmed and then applied in full came too late', () => {
  expect(shownCancellation('confirmed', { cause: 'caller', applied: true })).toBe('late');
  expect(shownCancellation('confirmed', { cause: 'caller', applied: false })).toBe('confirmed');
  expect(shownCancellation('confirmed', { cause: 'decision', applied: true })).toBe('confirmed');
  expect(shownCancellation('refused', { cause: 'caller', applied: true })).toBe('refused');
});

test('every state has its sentence, and each says something else', () => {
  const facts: CancellationFacts = {
    state: 'requested',
    cause: 'caller',
    tries: 0,
    error: 'HTTP 500',
    nextInMs: 2_000,
  };
  const texts = (Object.keys(CANCELLATION_STATES) as CancellationFacts['state'][]).map((state) =>
    cancellationText({ ...facts, state }),
  );
  texts.push(cancellationText({ ...facts, tries: 2 }));
  expect(new Set(texts).size).toBe(texts.length);
  expect(texts.at(-1)).toMatch(/has not answered \(2 calls, again in 2000 ms\): HTTP 500\.$/);
  for (const text of texts) expect(text).toMatch(/^ [A-Z].*\.$/);
  expect(cancellationText(null)).toBe('');
  expect(cancellationText({ ...facts, tries: 1, nextInMs: -5, cause: 'deadline' })).toMatch(
    /since its deadline had passed, and has not answered \(1 call, again in 0 ms\)/,
  );
  expect(cancellationText({ ...facts, tries: 1, nextInMs: null, error: null, cause: 'decision' })).toBe(
    ' The downstream was asked to cancel it, since its outcome was decided by hand, and has not answered (1 call).',
  );
});

/** A number that changes is another state in the stores that exist. */
test('states and causes are stored as these numbers', () => {
  const states = { requested: 0, confirmed: 1, refused: 2, late: 3, unsupported: 4, withdrawn: 5 };
  expect(CANCELLATION_STATES).toEqual(states);
  expect(CANCELLATION_CAUSES).toEqual({ caller: 0, deadline: 1, decision: 2 });
});
