import fc from 'fast-check';
import { hasWord, matches, needsErrors } from '../../../workflows/planning/bulk/matches';
import { atOnce, isAlready, planMoves } from '../../../workflows/planning/bulk/update';
import type { Waiting } from '../../../workflows/planning/bulk/update';

test.each([
  ['HTTP 503 at order 15030', '503', true],
  ['HTTP 15030', '503', false],
  ['HTTP 5031 and 503', '503', true],
  ['503', '503', true],
  ['E503', '503', false],
  ['ThrottlingException: slow down', 'ThrottlingException', true],
  ['ThrottlingExceptions', 'ThrottlingException', false],
  ['code=ERR_X.', 'ERR_X', true],
  ['ERR_X_2', 'ERR_X', false],
  ['größe 503é', '503', false],
  ['', '503', false],
  ['x---', '--', true],
])('in "%s" the word "%s" stands: %s', (text, word, expected) => {
  expect(hasWord(text, word)).toBe(expected);
});

test('a word stands in a text where it is set off, and nowhere else', () => {
  const word = fc.stringMatching(/^[a-z0-9]{1,8}$/);
  fc.assert(fc.property(word, word, (one, other) => hasWord(`${other} (${one})`, one)));
  fc.assert(fc.property(word, word, (one, other) => !hasWord(`${other}${one}x`, one) || other.includes(one)));
});

test('all criteria must hold; none holds for all', () => {
  const task = { error: 'HTTP 503 for order 17 at 10:00', atMs: 1_000 };
  expect(matches({}, task)).toBe(true);
  expect(matches({ error: 'for order', errorCode: '503', sinceMs: 1_000, untilMs: 1_001 }, task)).toBe(true);
  expect(matches({ errorGroup: 'HTTP 503 for order <n> at <time>' }, task)).toBe(true);
  expect(matches({ errorGroup: 'HTTP 503' }, task)).toBe(false);
  expect(matches({ error: 'for order', errorCode: '17', sinceMs: 1_001 }, task)).toBe(false);
  expect(matches({ untilMs: 1_000 }, task)).toBe(false);
  expect(matches({ error: 'for order', errorCode: '18' }, task)).toBe(false);
  expect(matches({ error: 'For order' }, task)).toBe(false);
  expect([{}, { sinceMs: 1 }, { error: 'x' }, { errorCode: 'x' }, { errorGroup: 'x' }].map(needsErrors)).toEqual([
    ...[false, false],
    ...[true, true, true],
  ]);
});

const waiting = (seq: number, place: Waiting['place'], notBeforeMs: number | null = null): Waiting => ({
  seq,
  place,
  priority: 0,
  weight: null,
  notBeforeMs,
  expiresAtMs: null,
});

test('a later time takes tasks out of the queue, none puts them into it', () => {
  const all = [waiting(1, 'queue'), waiting(2, 'delayed', 50), waiting(3, 'held'), waiting(4, 'delayed', 90)];
  expect(planMoves({ notBeforeMs: 90 }, all, 10)).toEqual({
    changed: [1, 2, 3],
    toDelayed: [1],
    toQueue: [],
    notBeforeMs: 90,
  });
  const now = { changed: [2, 4], toDelayed: [], toQueue: [2, 4], notBeforeMs: null };
  expect(planMoves({ notBeforeMs: null }, all, 10)).toEqual(now);
  expect(planMoves({ notBeforeMs: 9 }, all, 10)).toEqual(now); // it has passed
});

test('what is as wanted already is not changed; a weight that is not stored is 1', () => {
  const task = { priority: 3, weight: null, notBeforeMs: null, expiresAtMs: 7 };
  expect(isAlready({ priority: 3, weight: 1, notBeforeMs: null }, task)).toBe(true);
  expect(isAlready({ priority: 3, weight: 2 }, task)).toBe(false);
  expect(isAlready({ weight: 2 }, { ...task, weight: 2 })).toBe(true);
  expect(isAlready({ priority: 2 }, task)).toBe(false);
  expect(isAlready({ expiresAtMs: 7 }, task)).toBe(true);
  expect([isAlready({ expiresAtMs: 8 }, task), isAlready({ expiresAtMs: null }, task)]).toEqual([false, false]);
  expect(planMoves({ priority: 0 }, [waiting(1, 'queue')], 0).changed).toEqual([]);
  expect(planMoves({ priority: 0 }, [{ ...waiting(1, 'queue'), isPatched: true }], 0).changed).toEqual([1]);
  expect(atOnce({ priority: 1, notBeforeMs: 5 }, 5)).toEqual({ priority: 1, notBeforeMs: null });
  expect(atOnce({ notBeforeMs: 6 }, 5)).toEqual({ notBeforeMs: 6 });
});
