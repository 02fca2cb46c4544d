import fc from 'fast-check';
import {
  ON_DEPENDENCY_FAILURE,
  orderDependents,
  TASK_DEPENDENCIES_MAX,
} from '../../../workflows/planning/grouping/dependencies';
import type { NewDependent } from '../../../workflows/planning/grouping/dependencies';

const task = (id: string, ...dependsOn: string[]): NewDependent => ({ id, dependsOn });
const none = (): boolean => false;

test('dependencies come first, otherwise tasks stay as they came', () => {
  const tasks = [task('c', 'a', 'b'), task('x'), task('b', 'a'), task('a'), task('y', 'stored')];
  const { order, problems } = orderDependents(tasks, (id) => id === 'stored');
  expect(order.map((index) => tasks[index]!.id)).toEqual(['a', 'b', 'c', 'x', 'y']);
  expect(problems).toEqual([]);
});

test('of two problems of a task the cycle is named; what lies behind is refused with it', () => {
  const tasks = [task('a', 'b', 'nobody'), task('b', 'a'), task('c', 'b'), task('d', 'c'), task('e', 'nobody')];
  expect(orderDependents(tasks, none)).toEqual({
    order: [],
    problems: [
      { index: 0, why: 'cycle', path: ['a', 'b', 'a'] },
      { index: 1, why: 'cycle', path: ['a', 'b', 'a'] },
      { index: 2, why: 'refused', path: ['b'] },
      { index: 3, why: 'refused', path: ['c'] },
      { index: 4, why: 'unknown', path: ['nobody'] },
    ],
  });
});

test('a chain, and a cycle, of 10,000 tasks take no stack', () => {
  const chain = Array.from({ length: 10_000 }, (_, i) => task(`${i}`, ...(i === 9_999 ? [] : [`${i + 1}`])));
  expect(orderDependents(chain, none).order[0]).toBe(9_999);
  const cycle = chain.map(({ id }, i) => task(id, `${(i + 1) % 10_000}`));
  const { order, problems } = orderDependents(cycle, none);
  expect(order).toEqual([]);
  expect(problems).toHaveLength(10_000);
});

const anyCall = fc
  .integer({ min: 1, max: 12 })
  .chain((n) =>
    fc.array(fc.uniqueArray(fc.integer({ min: 0, max: 13 }), { maxLength: 4 }), { minLength: n, maxLength: n }),
  )
  .map((all) => all.map((needs, i) => task(`${i}`, ...needs.filter((on) => on !== i).map(String))));

test('exactly what can be stored is ordered, behind all that it depends on', () => {
  fc.assert(
    fc.property(anyCall, (tasks) => {
      // 13 is stored; 12, and places that the call does not have, are not.
      const { order, problems } = orderDependents(tasks, (id) => id === '13');
      // By another way: what has all its dependencies is taken, until nothing more is.
      const good = new Set(['13']);
      for (let before = 0; before !== good.size;) {
        before = good.size;
        for (const { id, dependsOn } of tasks) if (dependsOn.every((on) => good.has(on))) good.add(id);
      }
      good.delete('13');
      expect(new Set(order.map((index) => tasks[index]!.id))).toEqual(good);
      expect([...order, ...problems.map(({ index }) => index)].sort((a, b) => a - b)).toEqual([...tasks.keys()]);
      const placed = new Set(['13']);
      for (const index of order) {
        expect(tasks[index]!.dependsOn.filter((on) => !placed.has(on))).toEqual([]);
        placed.add(tasks[index]!.id);
      }
      for (const { index, why, path } of problems) {
        const next = why === 'cycle' ? path[path.indexOf(tasks[index]!.id) + 1]! : path[0]!;
        expect(tasks[index]!.dependsOn).toContain(next);
      }
    }),
  );
});

test('what a task may name', () => {
  expect(TASK_DEPENDENCIES_MAX).toBe(100);
  expect(ON_DEPENDENCY_FAILURE).toEqual(['fail', 'run']);
});
