import { fewestMoves, isSettled } from '../../examples/fleet/minimum';
import { Book } from '../../examples/fleet/book';
import { oneLine, picture } from '../../examples/fleet/picture';
import { invariantsOf, staleOf } from '../../examples/fleet/verdict';
import type { Result } from '../../examples/fleet/verdict';
import { rounds } from '../helpers/long';
import { runTrial } from './trial';

/**
 * The fleet example in short (B2, B3, B10, B11, B14, B16): real processes that join, leave, hang,
 * are killed and stopped. The long form: `npm run example:fleet`.
 *
 * @full
 */

test('killed, stopped and woken, blocked, drained: the fewest moves, nothing twice, nothing stale [B16 B11 B2]', async () => {
  const result = await runTrial<Result>('fleet', [
    '--nodes',
    '3',
    '--partitions',
    '16',
    '--minutes',
    `${rounds(0, 2)}`,
    '--block-ms',
    `${rounds(3_200, 10_000)}`,
    '--seed',
    '5',
  ]);
  expect(invariantsOf(result).filter(([, holds]) => !holds)).toEqual([]);
  expect(result).toMatchObject({ code: 0, twice: 0, staleAccepted: 0, isAccounted: true, isWhole: true });
  expect(Object.entries(result.scenes).filter(([, n]) => n === 0)).toEqual([]);
  expect(Object.keys(result.scenes)).toHaveLength(5);
  expect(result.submitted).toBeGreaterThan(500);
  expect(result.moves).toBe(result.fewest);
});

test.each([
  ['one joins', { a: 8, b: 8 }, ['a', 'b', 'c'], 16, 5],
  ['one is gone', { a: 5, b: 5, c: 6 }, ['a', 'b'], 16, 6],
  ['even already', { a: 5, b: 6 }, ['a', 'b'], 11, 0],
  ['two join 4 + 3', { a: 4, b: 3 }, ['a', 'b', 'c', 'd'], 7, 3],
  ['nobody had any', {}, ['a'], 4, 4],
] as const)('the fewest moves: %s', (_, had, members, partitions, expected) => {
  expect(fewestMoves(new Map(Object.entries(had)), members, partitions)).toBe(expected);
});

const lease = (no: number, holder: string | null, revoked = false) => ({
  partition: `partition/fleet/${no}`,
  holder,
  epoch: 1,
  revoked,
});
test.each([
  [[lease(0, 'a'), lease(1, 'b')], true],
  [[lease(0, 'a'), lease(1, 'a')], false],
  [[lease(0, 'a'), lease(1, null)], false],
  [[lease(0, 'a'), lease(1, 'b', true)], false],
  [[lease(0, 'a'), lease(1, 'c')], false],
  [[], false],
])('settled: %j: %s', (leases, expected) => {
  expect(isSettled(leases, ['a', 'b'])).toBe(expected);
});

test('the gate refuses lower epochs, answers a key again without doing it again, and sees what is done twice', () => {
  const book = new Book();
  const write = (epoch: number, key: string, tasks: string[]) =>
    book.write({ partition: 'p', epoch, node: `n${epoch}`, key, tasks });
  expect([
    write(1, 'k1', ['a', 'b']),
    write(2, 'k1', ['a', 'b']),
    write(1, 'k2', ['c']),
    write(2, 'k3', ['b']),
  ]).toEqual([null, null, 2, null]);
  expect(book.read()).toMatchObject({
    repeats: 1,
    tasks: ['a', 'b'],
    twice: ['b'],
    refused: [{ epoch: 1, highest: 2, node: 'n1' }],
  });
});

test('a stale write that was accepted is found: by its epoch, and by who held it', () => {
  const write = (epoch: number, node: string) => ({ partition: 'p', epoch, node, key: `${epoch}-${node}` });
  const writes = [write(1, 'n1'), write(2, 'n2'), write(1, 'n1'), write(2, 'n3'), write(3, 'n4')];
  const holders = new Map([
    [1, 'n1'],
    [2, 'n2'],
  ]);
  expect(staleOf(writes, (_, epoch) => holders.get(epoch) ?? null)).toEqual([write(1, 'n1'), write(2, 'n3')]);
});

test('the picture: who holds what, what is asked back, who is gone', () => {
  const shown = {
    seconds: '3.0',
    members: [
      { label: 'n1', id: 'a', state: 'up' },
      { label: 'n2', id: 'b', state: 'blocked' },
      { label: 'n3', id: 'c', state: 'killed' },
    ],
    leases: [lease(0, 'a'), lease(1, 'b', true), lease(2, null)],
    moves: 7,
    submitted: 9,
    news: ['n3 is killed'],
  } as const;
  expect(picture(shown)).toMatch(/n1 up +1 +0\nn2 blocked +1 +\(1\)\nnobody +1 +2\n\nn3 is killed/);
  expect(oneLine(shown)).toBe('3.0 s: n1 1, n2 blocked 1, nobody 1; 7 moves, 9 tasks');
});
