import { contentId } from '../../client/executions/contentId';
import {
  DEFAULT_MAX_ATTEMPTS,
  DEFAULT_MAX_LOSSES,
  LOST_BEFORE,
  nextWindow,
  succeeded,
} from '../../workflows/planning/executions/attempts';
import { ceilingRefusal, granted } from '../../workflows/planning/executions/ceilings';
import { chooseNodes, isNumberOfNodes, nodesWanted } from '../../workflows/planning/executions/chunks';
import { resultKey } from '../../workflows/planning/executions/contentText';
import { planTurn, roundPauseMs } from '../../workflows/planning/executions/turn';
import type { TurnFacts } from '../../workflows/planning/executions/turn';
import { METADATA_BYTES_MAX, METADATA_NAMES_MAX } from '../../workflows/planning/executions/usage';

const candidates = (...ids: string[]) => ids.map((id) => ({ id, serves: true, holds: 0 }));

describe('content ids [E12]', () => {
  const cid = 'bafybeie3nlygbnuxhvqv3gvwa2hmd4tcfzk5jtvscwl6qs3ljn5tknlt4q';
  const url = (n: number): string => `https://example.com/dir1/dir2/resource/some-random-slug-${n}`;
  test.each([
    [cid, 'echo.wasm', [url(1)], '268a4145a50ade48aed2b1147d3518c6'],
    [cid, 'echo.wasm', [url(0)], '4c555cef30403a7a11049c2883114da4'],
    ['c', 'f.wasm', ['--input-arg1', 'a1', '--input-arg2', 'a2'], '424cb8c596d957b4184dac0489bf5ad0'],
    ['c', 'f.wasm', [], '2d84d73d5bbf81d78d268d1b8153e0ae'],
  ])('%s/%s %j', (functionId, method, args, md5) => {
    expect(contentId(functionId, method, args)).toBe(md5);
  });
  test('two lists may have the same: the position tells them apart', () => {
    expect(contentId('c', 'f', ['a b'])).toBe(contentId('c', 'f', ['a', 'b']));
    expect(contentId('c', 'f', [])).toBe(contentId('c', 'f', ['']));
    expect([1, 2, 3].map((copy) => resultKey('ff', copy))).toEqual(['ff', 'ff#2', 'ff#3']);
  });
});

describe('how many items are announced ahead', () => {
  test('more where they are quick, fewer where they take long, never fewer than run at once', () => {
    let window = 1;
    for (let i = 0; i < 20; i++) window = nextWindow(window, 3, 1);
    expect(window).toBe(500);
    expect(nextWindow(500, 100, 1)).toBe(500);
    for (let i = 0; i < 20; i++) window = nextWindow(window, 300, 4);
    expect(window).toBe(4);
    expect(nextWindow(4, 3, 1_000)).toBe(1_000);
    expect([49, 50, 200, 201].map((tookMs) => nextWindow(12, tookMs, 1))).toEqual([24, 12, 12, 6]);
  });
});

describe('chunks [E4]', () => {
  test('a resume asks for no more nodes than there are items', () => {
    expect(nodesWanted(10, 3)).toBe(3);
    expect(nodesWanted(4, 100)).toBe(4);
    expect(nodesWanted(null, 7)).toBe(7);
  });
});

test('what holds where the operator says nothing', () => {
  expect([DEFAULT_MAX_ATTEMPTS, DEFAULT_MAX_LOSSES]).toEqual([10, 3]);
  expect([METADATA_NAMES_MAX, METADATA_BYTES_MAX]).toEqual([32, 4_096]);
  expect(LOST_BEFORE).toBe(2_147_483_648); // behind each place that an integer of Postgres has
});

test.each<[unknown, boolean]>([
  [-1, true],
  [1, true],
  [10_000, true],
  [10_001, false],
  [0, false],
  [-2, false],
  [1.5, false],
  ['1', false],
  [undefined, false],
])('%j is a number of nodes: %j', (value, expected) => expect(isNumberOfNodes(value)).toBe(expected));

describe('what a request may ask of a node', () => {
  const ceilings = { maxConcurrency: 8, maxTimeoutMs: 5_000 };
  test('what is above a ceiling is refused, each by its name', () => {
    expect(ceilingRefusal(ceilings, {})).toEqual([]);
    expect(ceilingRefusal(ceilings, { concurrency: 8, timeoutMs: 5_000 })).toEqual([]);
    expect(ceilingRefusal(ceilings, { concurrency: 9, timeoutMs: 5_001 })).toEqual([
      { name: 'concurrency', most: 8, got: 9 },
      { name: 'timeoutMs', most: 5_000, got: 5_001 },
    ]);
  });
  test('a node grants what is asked for or the default, under its ceiling', () => {
    const byDefault = { concurrency: 2, timeoutMs: 9_000 };
    expect(granted(ceilings, {}, byDefault)).toEqual({ concurrency: 2, timeoutMs: 5_000 });
    expect(granted(ceilings, { concurrency: 9, timeoutMs: 100 }, byDefault)).toEqual({
      concurrency: 8,
      timeoutMs: 100,
    });
  });
});

describe('the choice of nodes [E3 E11]', () => {
  test('each round begins with another node', () => {
    expect([1, 2, 3, 4].map((round) => chooseNodes(candidates('a', 'b', 'c'), 1, round))).toEqual([
      ['a'],
      ['b'],
      ['c'],
      ['a'],
    ]);
    expect(chooseNodes(candidates('c', 'a', 'b'), 5, 2)).toEqual(['b', 'c', 'a']);
  });
  test('who has the function goes before who has not; none has it: all do', () => {
    const some = [
      { id: 'a', serves: false, holds: 0 },
      { id: 'b', serves: true, holds: 3 },
    ];
    expect(chooseNodes(some, 2, 1)).toEqual(['b']);
    expect(chooseNodes([{ id: 'a', serves: false, holds: 0 }], 2, 1)).toEqual(['a']);
  });
  test('who has the fewest chunks in hand goes first', () => {
    const some = [
      { id: 'a', serves: true, holds: 2 },
      { id: 'b', serves: true, holds: 0 },
    ];
    expect(chooseNodes(some, 1, 1)).toEqual(['b']);
  });
});

test('done only with exit 0; a node-level error is failed, whatever the exit code says [E6]', () => {
  expect(succeeded({ exitCode: 0, nodeError: false })).toBe(true);
  expect(succeeded({ exitCode: 0, nodeError: true })).toBe(false);
  expect(succeeded({ exitCode: 1, nodeError: false })).toBe(false);
  expect(succeeded({ exitCode: null, nodeError: true })).toBe(false);
});

describe('a turn', () => {
  const facts = (over: Partial<TurnFacts> = {}): TurnFacts => ({
    state: 0,
    counts: { created: 20, inProgress: 0, done: 0, failed: 0, permanentlyFailed: 0 },
    round: 0,
    numberOfNodes: 4,
    candidates: candidates('a', 'b', 'c', 'd', 'e'),
    rollCallOver: false,
    mayPlan: true,
    filling: false,
    ...over,
  });
  test('as many nodes as were asked for: at once', () => {
    expect(planTurn(facts())).toEqual({ kind: 'plan', nodes: ['a', 'b', 'c', 'd'] });
  });
  test('fewer wait for the roll call, then are enough; none is none [E3]', () => {
    const few = facts({ candidates: candidates('a', 'b') });
    expect(planTurn(few)).toEqual({ kind: 'roll-call', answered: 2, wanted: 4 });
    expect(planTurn({ ...few, rollCallOver: true })).toEqual({ kind: 'plan', nodes: ['a', 'b'] });
    expect(planTurn(facts({ candidates: [], rollCallOver: true }))).toEqual({ kind: 'no-nodes', wanted: 4 });
  });
  test.each([undefined, -1])('number of nodes %p: every node that answers, one is enough', (numberOfNodes) => {
    const all = facts({ numberOfNodes });
    expect(planTurn(all)).toEqual({ kind: 'plan', nodes: ['a', 'b', 'c', 'd', 'e'] });
    expect(planTurn({ ...all, candidates: candidates('a') })).toEqual({ kind: 'plan', nodes: ['a'] });
    expect(planTurn({ ...all, candidates: [] })).toEqual({ kind: 'roll-call', answered: 0, wanted: 1 });
  });
  test('nothing pending and some in progress is not the end [E9]', () => {
    const counts = { created: 0, inProgress: 3, done: 17, failed: 0, permanentlyFailed: 0 };
    expect(planTurn(facts({ state: 1, counts }))).toEqual({ kind: 'wait' });
    expect(planTurn(facts({ state: 100, counts }))).toEqual({ kind: 'over' });
    expect(planTurn(facts({ state: -3 }))).toEqual({ kind: 'over' });
  });
  test('no round is planned while the chunks of one are filled', () => {
    expect(planTurn(facts({ filling: true }))).toEqual({ kind: 'fill' });
    expect(planTurn(facts({ state: -3, filling: true }))).toEqual({ kind: 'over' });
  });
  test('failed and created items are what is pending, after the pause [E7]', () => {
    const counts = { created: 1, inProgress: 0, done: 17, failed: 2, permanentlyFailed: 0 };
    expect(planTurn(facts({ state: 1, counts, round: 1 }))).toEqual({ kind: 'plan', nodes: ['b', 'c', 'd'] });
    expect(planTurn(facts({ state: 1, counts, mayPlan: false }))).toEqual({ kind: 'wait' });
  });
  test('the pause doubles while nothing comes of it, up to the requeue interval (E8)', () => {
    expect([0, 1, 2, 10, 40].map((fruitless) => roundPauseMs(fruitless, 1_000, 3_600_000))).toEqual([
      1_000, 2_000, 4_000, 1_024_000, 3_600_000,
    ]);
  });
});
