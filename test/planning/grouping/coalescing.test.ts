import fc from 'fast-check';
import { cutBatches } from '../../../workflows/planning/grouping/batches';
import { COALESCE_PREFIX, lastOfEachKey, mostCollected } from '../../../workflows/planning/grouping/coalescing';
import type { CutBatch, CutInput, CutPlan, WaitingTask } from '../../../workflows/planning/calls/plans';
import { buildCut, buildTask, seqsOf } from '../builders';

const NOW_MS = 1_000;

/** Tasks in claim order from texts such as `a` (of this key) and `-` (of none). */
const tasksOf = (keys: string, task: Partial<WaitingTask> = {}): WaitingTask[] =>
  [...keys].map((key, at) => buildTask({ ...task, seq: at + 1, key: key === '-' ? null : COALESCE_PREFIX + key }));

const coalescing = (input: Parameters<typeof buildCut>[0]): CutInput => buildCut({ mostCollected: 1_000, ...input });

const endsOf = (batches: readonly CutBatch[]): string[] =>
  batches.flatMap(({ superseded = [] }) => superseded.map(({ seq, by }) => `${seq} by ${by}`));

describe('cutBatches with coalesceBy', () => {
  test.each<[string, string, number[][], string[]]>([
    ['nothing waits', '', [], []],
    ['keys that differ', 'abc', [[1, 2, 3]], []],
    ['the last of a key goes', 'aab', [[2, 3]], ['1 by 2']],
    ['it goes where the first of its key would have gone', 'abca', [[4, 2, 3]], ['1 by 4']],
    [
      'a full batch is of those that go',
      'aaaaabbcd',
      [[5, 7, 8], [9]],
      ['1 by 5', '2 by 5', '3 by 5', '4 by 5', '6 by 7'],
    ],
    ['tasks without a key all go', '--a-a', [[1, 2, 5], [4]], ['3 by 5']],
    ['one key alone', 'aaaa', [[4]], ['1 by 4', '2 by 4', '3 by 4']],
  ])('%s', (_what, keys, batches, ends) => {
    const plan = cutBatches(coalescing({ tasks: tasksOf(keys) }), NOW_MS);
    expect(seqsOf(plan)).toEqual(batches);
    expect(endsOf(plan.batches)).toEqual(ends);
  });

  test('keys of a former distinctBy are no keys here, and none is held', () => {
    const tasks = [1, 2].map((seq) => buildTask({ seq, key: 'a' }));
    const plan = cutBatches(coalescing({ tasks, busyKeys: new Map([['a', 9]]) }), NOW_MS);
    expect(plan.batches).toMatchObject([{ seqs: [1, 2], reason: 'linger', bytes: 20, weight: 2 }]);
    expect(plan.batches[0]!.superseded).toBeUndefined();
  });

  test('by priority an older task may be the first to go: the one submitted last goes in its place', () => {
    const [urgent, later, other] = [
      buildTask({ seq: 7, key: `${COALESCE_PREFIX}a` }),
      buildTask({ seq: 9, key: `${COALESCE_PREFIX}a` }),
      buildTask({ seq: 8, key: `${COALESCE_PREFIX}b` }),
    ];
    expect(seqsOf(cutBatches(coalescing({ tasks: [urgent, other, later] }), NOW_MS))).toEqual([[9, 8]]);
    const stale = [buildTask({ ...urgent, seq: 10 }), other, later];
    const plan = cutBatches(coalescing({ tasks: stale }), NOW_MS);
    expect([seqsOf(plan), endsOf(plan.batches)]).toEqual([[[10, 8]], ['9 by 10']]);
  });

  test('bytes and weight are those of the tasks that go', () => {
    const tasks = tasksOf('ab').map((task, at) => ({ ...task, bytes: 30 + at, weight: 3 + at }));
    const old = tasksOf('aabb', { bytes: 1_000, weight: 1_000 }).map((task) => ({ ...task, seq: task.seq - 10 }));
    const limits = { maxBytes: 100, maxWeight: 10 };
    const plan = cutBatches(coalescing({ tasks: [...old, ...tasks], limits }), NOW_MS);
    expect(plan.batches).toMatchObject([{ seqs: [1, 2], reason: 'linger', bytes: 61, weight: 7 }]);
  });

  test('a batch is due when its oldest task is, also one that is not sent', () => {
    const tasks = tasksOf('aaa').map((task, at) => ({ ...task, readyAtMs: 400 * at }));
    const input = coalescing({ tasks });
    expect(cutBatches(input, 999)).toMatchObject({ batches: [], dueAtMs: 1_000 });
    expect(cutBatches(input, 1_000).batches).toMatchObject([{ seqs: [3], reason: 'linger' }]);
  });

  test('the quiet period counts from the newest, minItems counts those that go', () => {
    const tasks = tasksOf('aab').map((task, at) => ({ ...task, readyAtMs: 100 * at }));
    const quiet = { lingerMs: 9_000, quietPeriodMs: 500 };
    expect(cutBatches(coalescing({ tasks, limits: { ...quiet, minItems: 2 } }), 699).dueAtMs).toBe(700);
    expect(cutBatches(coalescing({ tasks, limits: { ...quiet, minItems: 3 } }), 699).dueAtMs).toBe(9_000);
  });

  test('a flush of a task that is not sent sends the one that goes for it', () => {
    const input = coalescing({ tasks: tasksOf('aa'), flushSeq: 1 });
    expect(cutBatches(input, 0).batches).toMatchObject([{ seqs: [2], reason: 'manual' }]);
  });

  test('when too many wait for a batch that is not full, it goes', () => {
    const input = coalescing({ tasks: tasksOf('ababa'), mostCollected: 5 });
    expect(cutBatches(input, 0).batches).toMatchObject([{ seqs: [5, 4], reason: 'size' }]);
    expect(cutBatches({ ...input, more: true }, 0)).toMatchObject({ batches: [{ seqs: [5, 4] }], readMore: true });
    expect(cutBatches({ ...input, mostCollected: 6 }, 0)).toMatchObject({ batches: [], dueAtMs: 1_000 });
    expect(cutBatches({ ...input, mostCollected: 6, more: true }, 0)).toMatchObject({ batches: [], readMore: true });
  });

  test('without a slot nothing ends', () => {
    const plan = cutBatches(coalescing({ tasks: tasksOf('aa'), maxBatches: 0 }), NOW_MS);
    expect(plan).toEqual({ batches: [], dueAtMs: NOW_MS, blocked: 'slots', readMore: false });
  });
});

test.each([
  [1, 1_004],
  [500, 3_000],
  [4_750, 20_000],
  [19_999, 20_000],
  [100_000, 100_000],
])('a batch of at most %d collects at most %d tasks', (maxItems, most) => {
  expect(mostCollected(maxItems)).toBe(most);
});

const anyTasks = fc
  .array(
    fc.record({
      priority: fc.integer({ min: -1, max: 1 }),
      bytes: fc.integer({ min: 0, max: 40 }),
      weight: fc.integer({ min: 0, max: 8 }),
      readyAtMs: fc.integer({ min: 0, max: 2 * NOW_MS }),
      key: fc.option(fc.constantFrom('a', 'b', 'c', 'd', 'e'), { freq: 4 }),
    }),
    { maxLength: 40 },
  )
  .map((tasks): WaitingTask[] =>
    tasks
      .map(({ key, ...task }, at) => ({
        ...task,
        seq: at + 1,
        key: key === null ? null : COALESCE_PREFIX + key,
      }))
      .sort((one, two) => one.priority - two.priority || one.seq - two.seq),
  );

const anyCut = fc
  .record({
    tasks: anyTasks,
    limits: fc.record({
      maxItems: fc.integer({ min: 1, max: 6 }),
      maxBytes: fc.option(fc.integer({ min: 20, max: 120 }), { nil: undefined }),
      minItems: fc.integer({ min: 0, max: 4 }),
      lingerMs: fc.integer({ min: 0, max: 2 * NOW_MS }),
      quietPeriodMs: fc.option(fc.integer({ min: 0, max: NOW_MS }), { nil: undefined }),
    }),
    flushSeq: fc.option(fc.integer({ min: 0, max: 40 }), { freq: 3 }),
    maxBatches: fc.integer({ min: 0, max: 12 }),
    mostCollected: fc.integer({ min: 6, max: 30 }),
    more: fc.boolean(),
  })
  .map((input) => coalescing(input));

const check = (property: (input: CutInput) => void): void =>
  fc.assert(fc.property(anyCut, property), { numRuns: 1_000 });

/** The task that goes for a task, said another way than the planner does. */
const successorOf = (task: WaitingTask, tasks: readonly WaitingTask[]): number =>
  task.key === null ? task.seq : Math.max(...tasks.filter(({ key }) => key === task.key).map(({ seq }) => seq));

describe('for any queue', () => {
  test('each task is sent, superseded by the last of its key, which is sent, or left', () => {
    check((input) => {
      const { batches } = cutBatches(input, NOW_MS);
      const sent = batches.flatMap(({ seqs }) => seqs);
      const ended = batches.flatMap(({ superseded = [] }) => superseded);
      const gone = [...sent, ...ended.map(({ seq }) => seq)];
      expect(new Set(gone).size).toBe(gone.length);
      for (const task of input.tasks) {
        const goes = successorOf(task, input.tasks);
        const end = ended.find(({ seq }) => seq === task.seq);
        if (!sent.includes(goes)) expect([...gone].includes(task.seq)).toBe(false);
        else if (goes === task.seq) expect(end).toBeUndefined();
        else expect(end).toEqual({ seq: task.seq, by: goes });
      }
    });
  });

  test('a key is sent at most once, with what goes for it in the same batch, in the order of the first of each', () => {
    check((input) => {
      const { batches } = cutBatches(input, NOW_MS);
      const firsts = input.tasks.filter(
        ({ key }, at) => key === null || !input.tasks.slice(0, at).some((other) => other.key === key),
      );
      const order = firsts.map((first) => successorOf(first, input.tasks));
      const sent = batches.flatMap(({ seqs }) => seqs);
      expect(sent).toEqual(order.slice(0, sent.length));
      for (const { seqs, superseded = [] } of batches)
        for (const { by } of superseded) expect(seqs.includes(by)).toBe(true);
    });
  });

  test('what is left is due later, or needs a slot or more of the queue', () => {
    check((input) => {
      const plan = cutBatches(input, NOW_MS);
      const gone = new Set(
        plan.batches.flatMap(({ seqs, superseded = [] }) => [...seqs, ...superseded.map(({ seq }) => seq)]),
      );
      const rest = { ...input, tasks: input.tasks.filter(({ seq }) => !gone.has(seq)) };
      const again = cutBatches({ ...rest, maxBatches: input.maxBatches - plan.batches.length }, NOW_MS);
      expect(again).toEqual({ ...plan, batches: [] });
    });
  });

  test('as many as may be collected always give a batch, however few of them go', () => {
    check((input) => {
      const plan = cutBatches({ ...input, maxBatches: 1 }, NOW_MS);
      if (input.tasks.length >= input.mostCollected!) expect(plan.batches).toHaveLength(1);
    });
  });

  test('without equal keys it is the cut of any other handler, up to that', () => {
    check((input) => {
      const tasks = input.tasks.map((task) => ({ ...task, key: task.key === null ? null : `${task.key}-${task.seq}` }));
      const plan = cutBatches({ ...input, tasks, mostCollected: 1_000 }, NOW_MS);
      const { mostCollected: _most, ...plain } = input;
      const without = ({ batches, ...rest }: CutPlan): object => ({
        ...rest,
        batches: batches.map(({ tasks: own, ...batch }) => ({ ...batch, own: own.map(({ seq }) => seq) })),
      });
      expect(without(plan)).toEqual(without(cutBatches({ ...plain, tasks }, NOW_MS)));
    });
  });
});

test('lastOfEachKey keeps the bytes of the last, and what it goes for in claim order', () => {
  const tasks = tasksOf('aba').map((task, at) => ({ ...task, bytes: at }));
  expect(lastOfEachKey(tasks).map(({ seq, bytes, earlier }) => [seq, bytes, earlier.map((one) => one.seq)])).toEqual([
    [3, 2, [1]],
    [2, 1, []],
  ]);
});
