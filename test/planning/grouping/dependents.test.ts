import fc from 'fast-check';
import { planDependents } from '../../../workflows/planning/grouping/dependents';
import type { Need } from '../../../workflows/planning/grouping/dependents';

const SUCCEEDED = 4;
const FAILED = 5;
const need = (seq: number, needs: number, rest: Partial<Need> = {}): Need => ({
  ...{ seq, needs, needsId: `t${needs}`, place: needs, run: false, state: null },
  ...rest,
});
const all = (...seqs: number[]): Set<number> => new Set(seqs);

test.each([
  [5, 'dependency "t1" failed'],
  [6, 'dependency "t1" is dead'],
  [7, 'dependency "t1" was cancelled'],
])('one that ended with state %d is named in the error', (state, error) => {
  expect(planDependents(new Map([[1, state]]), [need(2, 1), need(2, 0)], all(2))).toEqual({
    marks: [{ seq: 2, needs: 1, state }],
    released: [],
    failed: [{ seq: 2, error }],
  });
});

test('what was known before is marked no more, and counts', () => {
  const needs = [need(3, 1), need(3, 2, { state: SUCCEEDED })];
  expect(planDependents(new Map([[1, SUCCEEDED]]), needs, all(3))).toEqual({
    marks: [{ seq: 3, needs: 1, state: SUCCEEDED }],
    released: [3],
    failed: [],
  });
});

test('of several that failed, the error names the first that the task named', () => {
  const needs = [need(4, 1, { place: 1 }), need(4, 2, { place: 2 }), need(4, 3, { place: 0 })];
  const ends = new Map([1, 2, 3].map((seq) => [seq, FAILED]));
  expect(planDependents(ends, needs, all(4)).failed).toEqual([{ seq: 4, error: 'dependency "t3" failed' }]);
});

test('one that is no longer held is marked, and otherwise left as it is', () => {
  expect(planDependents(new Map([[1, FAILED]]), [need(2, 1), need(3, 2)], all(3))).toEqual({
    marks: [{ seq: 2, needs: 1, state: FAILED }],
    released: [],
    failed: [],
  });
});

test('a failure goes through a chain in one pass, and stops where a task runs anyway', () => {
  const needs = [need(4, 3, { run: true }), need(3, 2), need(2, 1), need(5, 4)];
  expect(planDependents(new Map([[1, FAILED]]), needs, all(2, 3, 4, 5))).toMatchObject({
    released: [4],
    failed: [
      { seq: 2, error: 'dependency "t1" failed' },
      { seq: 3, error: 'dependency "t2" failed' },
    ],
  });
});

const anyGraph = fc.record({
  edges: fc.array(fc.record({ seq: fc.integer({ min: 2, max: 12 }), needs: fc.integer({ min: 1, max: 11 }) }), {
    maxLength: 30,
  }),
  runs: fc.array(fc.boolean(), { minLength: 13, maxLength: 13 }),
  order: fc.array(fc.tuple(fc.integer({ min: 1, max: 12 }), fc.constantFrom(4, 4, 4, 5, 6, 7)), { maxLength: 40 }),
  together: fc.integer({ min: 1, max: 4 }),
});

test('in whatever order and groups ends arrive, no task is left that nothing holds, and none goes too early', () => {
  fc.assert(
    fc.property(anyGraph, ({ edges, runs, order, together }) => {
      const pairs = new Map(
        edges.filter(({ seq, needs }) => needs < seq).map((edge) => [`${edge.seq} ${edge.needs}`, edge]),
      );
      const needs = [...pairs.values()].map(({ seq, needs: on }) => need(seq, on, { run: runs[seq]! }));
      const held = new Set(needs.map(({ seq }) => seq));
      const ends = new Map<number, number>();
      const released = new Set<number>();
      const news: [number, number][] = [];
      const work = (): void => {
        while (news.length > 0) {
          const some = new Map(news.splice(0, together));
          const seqs = new Set(
            needs.filter(({ needs: on, state }) => state === null && some.has(on)).map(({ seq }) => seq),
          );
          const plan = planDependents(
            some,
            needs.filter(({ seq }) => seqs.has(seq)).map((one) => ({ ...one })),
            held,
          );
          for (const mark of plan.marks)
            needs.find(({ seq, needs: on }) => seq === mark.seq && on === mark.needs)!.state = mark.state;
          for (const seq of plan.released) {
            held.delete(seq);
            released.add(seq);
          }
          for (const { seq } of plan.failed) {
            held.delete(seq);
            ends.set(seq, FAILED);
            news.push([seq, FAILED]);
          }
        }
      };
      for (const [seq, state] of order) {
        // Only what is not held can end.
        if (held.has(seq) || ends.has(seq)) continue;
        ends.set(seq, state);
        news.push([seq, state]);
        if (news.length >= together) work();
      }
      work();
      for (const seq of new Set(needs.map((one) => one.seq))) {
        const mine = needs.filter((one) => one.seq === seq).map(({ needs: on }) => ends.get(on) ?? null);
        const bad = !runs[seq]! && mine.some((state) => state !== null && state !== SUCCEEDED);
        const ready = !bad && !mine.includes(null);
        expect({ seq, held: held.has(seq), released: released.has(seq) }).toEqual({
          seq,
          held: !bad && !ready,
          released: ready,
        });
      }
    }),
  );
});
