import fc from 'fast-check';
import { cutFirst, isStrict } from '../../../workflows/planning/grouping/orderedQueue';
import type { QueuedTask } from '../../../workflows/planning/grouping/orderedQueue';
import { APPROACHES, LANE_KINDS, ON_INVALID } from '../../../workflows/planning/lanes/types';

/** What is cut from the queue of a lane. */

const LIMITS = {
  maxItems: 3,
  maxBytes: null,
  overheadBytes: 0,
  maxWeight: null,
  minItems: 1,
  lingerMs: 1_000,
  quietMs: null,
  weightBudget: null,
};
const head = (limits: Partial<Record<keyof typeof LIMITS, number | null>> = {}, more: object = {}) => ({
  limits: { ...LIMITS, ...limits } as typeof LIMITS,
  flushSeq: null,
  nowMs: 500,
  ...more,
});
/** `a1 b2`: of targets a and b; a key behind the target makes two with the same one. */
const queue = (text: string): QueuedTask[] =>
  text.split(' ').flatMap((word, at) => {
    const [target, key] = word.split(':');
    const task = { seq: at + 1, bytes: 10, weight: null, key: key ?? null, readyAtMs: 0 };
    return word === '' ? [] : [{ ...task, targetId: target!.charCodeAt(0) }];
  });

test.each<[string, string, object, boolean, number[] | null, number | null, boolean]>([
  ['none waits', '', {}, false, null, null, false],
  ['fewer than fit wait for more', 'a a', {}, false, null, 1_000, false],
  ['as many as fit go', 'a a a', {}, false, [1, 2, 3], null, true],
  ['more than fit: the first go', 'a a a a', {}, true, [1, 2, 3], null, false],
  ['of another target behind: nothing can join, so they go', 'a b', {}, false, [1], null, false],
  ['the same key behind: as of another target', 'a:k a:j a:k', {}, false, [1, 2], null, false],
  ['different keys go together', 'a:k a:j a:i', {}, false, [1, 2, 3], null, true],
  ['what is behind another target is not taken', 'a b a a', {}, false, [1], null, false],
  ['without a linger they go at once', 'a', { lingerMs: 0 }, false, [1], null, true],
  ['bytes', 'a a a', { maxBytes: 25 }, false, [1, 2], null, false],
  ['the weight of a batch', 'a a a', { maxWeight: 2 }, false, [1, 2], null, false],
  ['as many as fit, and more unread', 'a a a', {}, true, [1, 2, 3], null, false],
  ['fewer than fit, and more unread', 'a a', {}, true, null, 500, false],
  ['of another target behind, and more unread', 'a b', {}, true, [1], null, false],
  ['the weight in flight alone', 'a a a', { weightBudget: 2 }, false, [1, 2], null, false],
  ['the weight of a batch below it', 'a a a', { weightBudget: 3, maxWeight: 2 }, false, [1, 2], null, false],
  ['the weight that may ever be in flight', 'a a a', { weightBudget: 1, maxWeight: 2 }, false, [1], null, false],
])('%s', (_, text, limits, more, seqs, dueAtMs, all) => {
  const cut = cutFirst(head(limits), queue(text), more);
  expect(cut.batch?.seqs ?? null).toEqual(seqs);
  expect(cut.all).toBe(all);
  if (seqs === null) expect(cut.dueAtMs).toBe(dueAtMs);
});

test('the weight of each task counts', () => {
  const heavy = queue('a a').map((task) => ({ ...task, weight: 3 }));
  expect(cutFirst(head({ maxWeight: 4 }), heavy, false).batch?.seqs).toEqual([1]);
});

test('what nothing can join goes at once, however new it is', () => {
  expect(cutFirst(head({}, { nowMs: 0 }), queue('a b'), false).batch?.seqs).toEqual([1]);
});

test('a flush makes those up to its mark due, and no more than their batch', () => {
  expect(cutFirst(head({}, { flushSeq: 1 }), queue('a a'), false).batch?.seqs).toEqual([1, 2]);
  expect(cutFirst(head({}, { flushSeq: 0 }), queue('a a'), false).batch).toBeNull();
});

test('of any queue a batch is a prefix of one target with no key twice, and cutting ends', () => {
  const task = fc.record({
    targetId: fc.integer({ min: 1, max: 2 }),
    key: fc.option(fc.constantFrom('j', 'k'), { nil: null }),
    weight: fc.option(fc.integer({ min: 0, max: 3 }), { nil: null }),
    bytes: fc.integer({ min: 0, max: 20 }),
  });
  fc.assert(
    fc.property(fc.array(task, { maxLength: 12 }), fc.integer({ min: 1, max: 4 }), (tasks, maxItems) => {
      let left: QueuedTask[] = tasks.map((one, at) => ({ ...one, seq: at + 1, readyAtMs: 0 }));
      while (left.length > 0) {
        const { batch, all } = cutFirst(head({ maxItems, maxBytes: 20, maxWeight: 3, lingerMs: 0 }), left, false);
        const { seqs } = batch!;
        expect(seqs).toEqual(left.slice(0, seqs.length).map(({ seq }) => seq));
        expect(seqs.length).toBeLessThanOrEqual(maxItems);
        const members = left.slice(0, seqs.length);
        const keys = members.flatMap(({ key }) => key ?? []);
        expect(new Set(keys).size).toBe(keys.length);
        expect(new Set(members.map(({ targetId }) => targetId)).size).toBe(1);
        left = left.slice(seqs.length);
        expect(all).toBe(left.length === 0);
      }
    }),
  );
});

test.each([
  ['serial', 'non-guaranteed', 'continue', true],
  ['serial', 'guaranteed', 'continue', false],
  ['parallel', 'non-guaranteed', 'continue', false],
  ['unconstrained', 'guaranteed', 'continue', false],
  ['parallel', 'guaranteed', 'halt', true],
] as const)('%s, %s, on invalid %s: strict %s', (approach, kind, onInvalid, strict) => {
  const lane = { approach: APPROACHES[approach], kind: LANE_KINDS[kind], onInvalid: ON_INVALID[onInvalid] };
  expect(isStrict(lane)).toBe(strict);
});
