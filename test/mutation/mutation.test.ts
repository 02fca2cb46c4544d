import path from 'node:path';
import { read, ROOT } from '../project/project';
import { dryRun, touchingOf } from './coverage';
import type { Judged } from './judge';
import { judge } from './judge';
import type { Mutant } from './mutants/mutant';
import { mutated } from './mutants/mutant';
import { mutantsOf } from './mutants/typescript';
import { lineOf, readScores, scoreOf, survivorsOf, withFolder } from './scores';
import { readJestConfig, WarmJest } from './warmJest';

/**
 * The short form of `npm run mutants`: a few mutants of the waits between attempts, with the test
 * that touches them, in the process that the long form uses.
 *
 * @slow
 */

const FILE = 'workflows/planning/calls/retry.ts';
const TEST = 'test/planning/retry.test.ts';

let warm: WarmJest;
beforeAll(async () => {
  warm = new WarmJest(await readJestConfig('jest.unit.config.js'));
});
afterAll(() => warm.stop());

const text = read(FILE);
const all = mutantsOf(FILE, text, 'typescript');
const planted = (original: string, replacement: string): Mutant => {
  const found = all.find((one) => mutated(text, one) === text.replace(original, replacement));
  if (found === undefined) throw new Error(`${FILE} has no mutant of ${original}`);
  return found;
};
/** Means the same, whatever a test asserts. */
const equivalent = (original: string, replacement: string): Mutant => {
  const start = text.indexOf(original);
  const end = start + original.length;
  const spot = { start, end, isStatement: false };
  return { file: FILE, line: 1, kind: 'by hand', start, end, original, replacement, spot };
};

test('a mutant is killed, survives, or is not executed by any test, and its line says so', async () => {
  const mutants = [
    planted('attempt - 1', 'attempt + 1'),
    planted('if (repeat > policy.times)', 'if (false)'),
    planted('Math.max(1,', 'Math.max(2,'),
    planted('ms < IN_PLACE_BELOW_MS', 'ms <= IN_PLACE_BELOW_MS'),
    equivalent('repeat > policy.times', 'policy.times < repeat'),
  ];
  const run = await dryRun(warm, TEST, mutants);
  expect(run.outcome).toMatchObject({ hasFailed: false });
  const touching = touchingOf(mutants, [run], true);
  expect(touching.map(([one]) => one?.only?.length)).toEqual([10, 1, 1, 1, 1]);
  const judged: Judged[] = [];
  for (const [i, mutant] of mutants.entries()) judged.push(await judge(warm, mutant, touching[i]!));
  judged.push(await judge(warm, mutants[0]!, []));
  const killed = ['killed', 'killed', 'killed', 'killed'];
  expect(judged.map(({ verdict }) => verdict)).toEqual([...killed, 'survived', 'untouched']);
  expect(survivorsOf(judged).map(lineOf)).toEqual([
    expect.stringMatching(/^survived .*retry\.ts:1 {2}by hand: repeat > policy\.times -> policy\.times < repeat$/),
    expect.stringMatching(/^untouched .*retry\.ts:\d+ {2}arithmetic: - -> \+$/),
  ]);
  expect(scoreOf(judged, 'all')).toMatchObject({ score: 66.6, mutants: 6, killed: 4, survived: 1, untouched: 1 });
});

test('a mutant with which code does not end is found, and the next is judged', async () => {
  const file = path.join(ROOT, FILE);
  const swaps = [{ file, text: text.replace('const doublings', 'for (;;) attempt++;\n  const doublings') }];
  const trial = { file: path.join(ROOT, TEST), swaps, only: null };
  expect(await warm.run(trial, 3_000)).toBeNull();
  expect(await warm.run({ ...trial, swaps: [] }, 120_000)).toMatchObject({ hasFailed: false });
});

test('a mutant that is no program counts for nothing', async () => {
  const mutant = equivalent('repeat > policy.times', ')');
  const judged = await judge(warm, mutant, [{ file: TEST, only: null, ms: 0 }]);
  expect(judged.verdict).toBe('invalid');
  expect(scoreOf([judged], 'all')).toMatchObject({ score: 100, mutants: 0 });
});

test('a reason outlives the next measurement, those of other folders too, and that of a killed mutant goes', () => {
  const survived = (original: string): Judged => ({ mutant: equivalent(original, 'false'), verdict: 'survived' });
  const first = [survived('repeat > policy.times'), survived('ms < IN_PLACE_BELOW_MS')];
  const folder = 'workflows/planning';
  const other = { key: 'postgres/pool.ts | guard | a | b', verdict: 'survived' as const, reason: 'theirs' };
  const before = withFolder({ folders: {}, survivors: [other] }, folder, scoreOf(first, 'all'), first);
  expect(before.survivors.map(({ reason }) => reason)).toEqual(['theirs', '', '']);
  const explained = { ...before, survivors: before.survivors.map((one) => ({ ...one, reason: `${one.reason}!` })) };
  const second = [first[0]!, survived('attempt - 1')];
  const after = withFolder(explained, folder, scoreOf(second, 'all'), second);
  expect(after.survivors.map(({ key, reason }) => [key.split(' | ')[2], reason])).toEqual([
    ['a', 'theirs!'],
    ['attempt - 1', ''],
    ['repeat > policy.times', '!'],
  ]);
});

test('each kept survivor has its reason', () => {
  const { survivors } = readScores();
  expect(survivors.filter(({ reason }) => reason === '').map(({ key }) => key)).toEqual([]);
});
