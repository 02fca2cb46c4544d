import type { TaskProblem } from '../../client';
import { checkTask } from '../../client/tasks/checkTasks';
import type { Shop } from '../client/shop';
import { broken, itemHandler, openShop, placesOf } from '../client/shop';
import { problemsOf, task } from './world';

let shop: Shop;
beforeAll(async () => {
  shop = await openShop();
});
afterAll(async () => {
  expect(await broken(shop.client)).toEqual({});
  await shop.stop();
});

test('an unknown dependency is refused by name, and nothing is stored', async () => {
  expect(await problemsOf(shop, [task('fine'), task('lost', ['fine', 'nobody'])])).toEqual([
    {
      index: 1,
      id: 'lost',
      field: 'dependsOn.1',
      code: 'INVALID_DEPENDENCY',
      message:
        'expected ids of accepted tasks or of this call, got "nobody", which does not exist, or was deleted after its retention period',
    },
  ]);
  expect(await shop.client.getTasks(['fine', 'lost'])).toEqual([]);
});

test('with partial acceptance only what depends on refused tasks is refused with them', async () => {
  const result = await shop.client.submit(
    'items',
    [task('kept'), task('x', ['nobody']), task('y', ['x']), task('z', ['kept'])],
    { partial: true },
  );
  expect(result).toMatchObject({ accepted: 2, repeated: 0 });
  expect(result.refused.map(({ id, field }) => `${id} ${field}`)).toEqual(['x dependsOn.0', 'y dependsOn.0']);
  expect(await placesOf(shop.pool, 'z')).toEqual(['held']);
});

test('a cycle is refused with its path, and nothing is stored', async () => {
  const problems = await problemsOf(shop, [
    task('a', ['b']),
    task('b', ['c']),
    task('c', ['a']),
    task('d', ['a']),
    task('e'),
  ]);
  expect(problems.map(({ id, message }) => `${id}: ${message}`)).toEqual([
    'a: expected no cycle, got "a" -> "b" -> "c" -> "a"',
    'b: expected no cycle, got "a" -> "b" -> "c" -> "a"',
    'c: expected no cycle, got "a" -> "b" -> "c" -> "a"',
    'd: expected tasks that can be accepted, got "a" of the same call, which is refused',
  ]);
  expect(await shop.client.getTasks(['a', 'b', 'c', 'd', 'e'])).toEqual([]);
});

test('100 dependencies are taken, 101 are refused', async () => {
  const many = Array.from({ length: 101 }, (_, i) => `n${i}`);
  await shop.client.submit('items', [...many.map((id) => task(id)), task('hundred', many.slice(0, 100))]);
  expect(await placesOf(shop.pool, 'hundred')).toEqual(['held']);
  expect(await problemsOf(shop, [task('more', many)])).toMatchObject([
    { id: 'more', field: 'dependsOn', message: 'expected at most 100 task ids, got 101' },
  ]);
});

test.each([
  ['text', { dependsOn: 'a' }, 'dependsOn: expected an array of task ids, got "a"'],
  ['a number', { dependsOn: [7] }, 'dependsOn: expected task ids, got 7'],
  ['itself', { dependsOn: ['wrong'] }, 'dependsOn: expected other tasks, got the task itself'],
  ['twice the same', { dependsOn: ['n1', 'n1'] }, 'dependsOn: expected each task id once, got "n1" twice'],
  ['another policy', { onDependencyFailure: 'skip' }, 'onDependencyFailure: expected "fail" or "run", got "skip"'],
])('%s is refused', async (_, wrong, message) => {
  const problems = await problemsOf(shop, [task('wrong', [], wrong)]);
  expect(problems.map((one) => `${one.field}: ${one.message}`)).toEqual([message]);
});

test('in a lane tasks have no dependencies', () => {
  const problems: TaskProblem[] = [];
  checkTask(itemHandler({ name: 'ordered', lane: {} }), task('in lane', ['x']), 0, problems);
  expect(problems).toMatchObject([
    {
      field: 'dependsOn',
      code: 'INVALID_DEPENDENCY',
      message: 'expected no dependencies in a lane, got 1: batches of lanes have their own (batches.submit)',
    },
  ]);
});
