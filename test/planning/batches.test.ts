import { cutBatches } from '../../workflows/planning/grouping/batches';
import { buildCut, buildTask, buildTasks, seqsOf } from './builders';

const NONE = { batches: [], blocked: null, readMore: false };

describe('cutBatches: when a batch is due', () => {
  test('a full batch does not wait, what is left over waits for its linger [A12]', () => {
    const plan = cutBatches(buildCut({ tasks: buildTasks(7, { readyAtMs: 500 }) }), 600);
    expect(seqsOf(plan)).toEqual([
      [1, 2, 3],
      [4, 5, 6],
    ]);
    expect(plan.batches.map((batch) => batch.reason)).toEqual(['size', 'size']);
    expect(plan).toMatchObject({ dueAtMs: 1_500, blocked: null, readMore: false });
  });

  test('the overflow of a full batch leaves alone after its linger, without a new arrival [A13]', () => {
    const rest = buildCut({ tasks: [buildTask({ seq: 4, readyAtMs: 500 })] });
    expect(cutBatches(rest, 1_499)).toEqual({ ...NONE, dueAtMs: 1_500 });
    expect(cutBatches(rest, 1_500)).toEqual({
      ...NONE,
      batches: [{ seqs: [4], tasks: rest.tasks, reason: 'linger', bytes: 10, weight: 1 }],
      dueAtMs: null,
    });
  });

  test('exact linger arithmetic: arrivals at 0, 0.4, 0.8 s, linger 1 s: one batch at 1.0 s', () => {
    const tasks = [0, 400, 800].map((readyAtMs, at) => buildTask({ seq: at + 1, readyAtMs }));
    const input = buildCut({ tasks, limits: { maxItems: 10 } });
    expect(cutBatches(input, 800)).toEqual({ ...NONE, dueAtMs: 1_000 });
    expect(cutBatches(input, 999)).toEqual({ ...NONE, dueAtMs: 1_000 });
    const plan = cutBatches(input, 1_000);
    expect(seqsOf(plan)).toEqual([[1, 2, 3]]);
    expect(plan.batches[0]!.reason).toBe('linger');
  });

  test('quiet period 0.5 s, linger 3 s, an arrival every 0.4 s: one batch at 3.0 s, of the linger [G5]', () => {
    const limits = { maxItems: 100, lingerMs: 3_000, quietPeriodMs: 500 };
    const arrivals = Array.from({ length: 8 }, (_, at) => buildTask({ seq: at + 1, readyAtMs: at * 400 }));
    for (let n = 1; n < arrivals.length; n++) {
      const atMs = (n - 1) * 400;
      const plan = cutBatches(buildCut({ tasks: arrivals.slice(0, n), limits }), atMs);
      expect(plan).toEqual({ ...NONE, dueAtMs: atMs + 500 });
    }
    const all = buildCut({ tasks: arrivals, limits });
    expect(cutBatches(all, 2_800)).toEqual({ ...NONE, dueAtMs: 3_000 });
    expect(cutBatches(all, 3_000).batches[0]).toMatchObject({ reason: 'linger', seqs: [1, 2, 3, 4, 5, 6, 7, 8] });
  });

  test('arrivals that stop are due after the quiet period [G5]', () => {
    const tasks = [buildTask({ seq: 1, readyAtMs: 0 }), buildTask({ seq: 2, readyAtMs: 400 })];
    const input = buildCut({ tasks, limits: { lingerMs: 3_000, quietPeriodMs: 500 } });
    expect(cutBatches(input, 899)).toEqual({ ...NONE, dueAtMs: 900 });
    expect(cutBatches(input, 900).batches[0]).toMatchObject({ reason: 'quiet', seqs: [1, 2] });
  });

  test('minItems holds the quiet period back but never delays past the linger [G5 H6]', () => {
    const limits = { lingerMs: 3_000, quietPeriodMs: 500, minItems: 2 };
    const one = buildCut({ tasks: buildTasks(1), limits });
    expect(cutBatches(one, 2_999)).toEqual({ ...NONE, dueAtMs: 3_000 });
    expect(cutBatches(one, 3_000).batches[0]).toMatchObject({ reason: 'linger' });
    expect(cutBatches(buildCut({ tasks: buildTasks(2), limits }), 500).batches[0]).toMatchObject({ reason: 'quiet' });
  });

  test('oldest and newest are by time, not by place: a late urgent task neither hides the old one nor passes for the last', () => {
    const tasks = [buildTask({ seq: 9, readyAtMs: 900 }), buildTask({ seq: 1, readyAtMs: 0 })];
    expect(cutBatches(buildCut({ tasks }), 950).dueAtMs).toBe(1_000);
    const quiet = buildCut({ tasks, limits: { lingerMs: 5_000, quietPeriodMs: 500 } });
    expect(cutBatches(quiet, 950).dueAtMs).toBe(1_400);
  });

  test('a linger of 0 is due at once', () => {
    const plan = cutBatches(buildCut({ tasks: buildTasks(1, { readyAtMs: 70 }), limits: { lingerMs: 0 } }), 70);
    expect(plan.batches[0]).toMatchObject({ reason: 'linger', seqs: [1] });
  });

  test('a flush takes the whole rest, later tasks included; one before their arrival takes nothing [G6]', () => {
    const tasks = buildTasks(5);
    const plan = cutBatches(buildCut({ tasks, flushSeq: 4 }), 0);
    expect(plan.batches.map(({ seqs, reason }) => [seqs, reason])).toEqual([
      [[1, 2, 3], 'size'],
      [[4, 5], 'manual'],
    ]);
    expect(cutBatches(buildCut({ tasks: tasks.slice(3), flushSeq: 3 }), 0)).toEqual({ ...NONE, dueAtMs: 1_000 });
  });

  test('an empty queue has nothing due', () => {
    expect(cutBatches(buildCut({}), 5)).toEqual({ ...NONE, dueAtMs: null });
    expect(cutBatches(buildCut({ maxBatches: 0, weightLeft: 0, flushSeq: 9 }), 5)).toEqual({ ...NONE, dueAtMs: null });
  });
});

describe('cutBatches: limits (A13, G4, H6)', () => {
  test.each([
    ['bytes: closed before the task that would exceed', { maxBytes: 25 }, [[1, 2], 'bytes', 20]],
    ['bytes: the overhead counts', { maxBytes: 25, overheadBytes: 10 }, [[1], 'bytes', 20]],
    ['weight: closed before the task that would exceed', { maxWeight: 1.5 }, [[1], 'weight', 10]],
    ['the first limit reached names the reason', { maxItems: 2, maxBytes: 25, maxWeight: 2 }, [[1, 2], 'size', 20]],
  ])('%s', (_, limits, expected) => {
    const plan = cutBatches(buildCut({ tasks: buildTasks(6), limits: { maxItems: 10, ...limits } }), 0);
    const { seqs, reason, bytes } = plan.batches[0]!;
    expect([seqs, reason, bytes]).toEqual(expected);
  });

  test('exactly at a maximum does not wait (A12)', () => {
    const tasks = buildTasks(2);
    for (const [limits, reason] of [
      [{ maxItems: 2 }, 'size'],
      [{ maxBytes: 20 }, 'bytes'],
      [{ maxWeight: 2 }, 'weight'],
    ] as const) {
      expect(cutBatches(buildCut({ tasks, limits }), 0).batches).toEqual([
        { seqs: [1, 2], tasks, reason, bytes: 20, weight: 2 },
      ]);
    }
  });

  test('a task above a limit by itself goes alone, its neighbours do not wait for it', () => {
    const tasks = [1, 2, 3].map((seq) => buildTask({ seq, bytes: seq === 2 ? 99 : 10 }));
    const plan = cutBatches(buildCut({ tasks, limits: { maxBytes: 50 } }), 0);
    expect(plan.batches.map(({ seqs, reason }) => [seqs, reason])).toEqual([
      [[1], 'bytes'],
      [[2], 'bytes'],
    ]);
    expect(plan.dueAtMs).toBe(1_000);
  });
});

describe('cutBatches: distinctBy (H6)', () => {
  const keyed = (...keys: string[]) => keys.map((key, at) => buildTask({ seq: at + 1, key }));

  test('equal keys never share a batch nor two batches in flight; the later one stays and keeps its order', () => {
    const plan = cutBatches(buildCut({ tasks: keyed('a', 'a', 'b', 'a', 'c', 'd'), limits: { maxItems: 2 } }), 9_000);
    expect(seqsOf(plan)).toEqual([
      [1, 3],
      [5, 6],
    ]);
    expect(plan.dueAtMs).toBeNull();
  });

  test('a key in the hands of another task waits and counts for nothing', () => {
    const busyKeys = new Map([['a', 77]]);
    const plan = cutBatches(buildCut({ tasks: keyed('a', 'b', 'c'), busyKeys }), 500);
    expect(plan).toEqual({ ...NONE, dueAtMs: 1_000 });
    expect(cutBatches(buildCut({ tasks: keyed('a', 'a'), busyKeys, flushSeq: 9 }), 9_000)).toEqual({
      ...NONE,
      dueAtMs: null,
    });
  });

  test('a retried task goes under the key that it holds itself, wherever it stands', () => {
    const busyKeys = new Map([['a', 2]]);
    expect(seqsOf(cutBatches(buildCut({ tasks: keyed('a', 'a', 'a'), busyKeys }), 9_000))).toEqual([[2]]);
  });
});

describe('cutBatches: tokens', () => {
  test('no slot left: blocked where something is due, patient where nothing is', () => {
    const tasks = buildTasks(7);
    const plan = cutBatches(buildCut({ tasks, maxBatches: 1 }), 0);
    expect(seqsOf(plan)).toEqual([[1, 2, 3]]);
    expect(plan).toMatchObject({ dueAtMs: 0, blocked: 'slots' });
    expect(cutBatches(buildCut({ tasks, maxBatches: 2 }), 0)).toMatchObject({ dueAtMs: 1_000, blocked: null });
    expect(cutBatches(buildCut({ tasks: buildTasks(2), maxBatches: 0 }), 0)).toEqual({ ...NONE, dueAtMs: 1_000 });
  });

  test('a batch above the weight left blocks whole, and nothing smaller overtakes it [G4]', () => {
    const tasks = [2, 2, 2, 1].map((weight, at) => buildTask({ seq: at + 1, weight }));
    const input = buildCut({ tasks, limits: { maxWeight: 4 }, weightLeft: 5, weightBudget: 9, flushSeq: 9 });
    const plan = cutBatches(input, 0);
    expect(seqsOf(plan)).toEqual([[1, 2]]);
    expect(plan).toMatchObject({ dueAtMs: 0, blocked: 'weight', readMore: false });
  });

  test('batches are cut to the weight budget, so a free budget always lets the next one go [G4]', () => {
    const tasks = buildTasks(3, { weight: 4 });
    const input = buildCut({ tasks, weightLeft: 9, weightBudget: 9 });
    expect(cutBatches(input, 0)).toMatchObject({
      batches: [{ seqs: [1, 2], reason: 'weight', weight: 8 }],
      blocked: null,
    });
  });

  test('a task above the whole budget goes alone, and only while nothing else is in flight [G4]', () => {
    const tasks = buildTasks(1, { weight: 12 });
    const seen = (weightLeft: number) => cutBatches(buildCut({ tasks, weightLeft, weightBudget: 9 }), 0);
    expect(seen(8)).toMatchObject({ batches: [], blocked: 'weight' });
    expect(seqsOf(seen(9))).toEqual([[1]]);
  });
});

describe('cutBatches: a prefix of the queue', () => {
  test('only full batches are cut, and the rest asks for more to be read', () => {
    const plan = cutBatches(buildCut({ tasks: buildTasks(5), more: true }), 9_000);
    expect(seqsOf(plan)).toEqual([[1, 2, 3]]);
    expect(plan).toMatchObject({ dueAtMs: 9_000, blocked: null, readMore: true });
  });

  test('exactly at a maximum of bytes or weight an unread task of none would still fit: more is read', () => {
    for (const limits of [{ maxBytes: 20 }, { maxWeight: 2 }]) {
      const plan = cutBatches(buildCut({ tasks: buildTasks(2), more: true, limits }), 0);
      expect(plan).toMatchObject({ batches: [], readMore: true });
      const whole = [...buildTasks(2), buildTask({ seq: 3, bytes: 0, weight: 0 })];
      expect(seqsOf(cutBatches(buildCut({ tasks: whole, limits: { ...limits, maxItems: 9 } }), 0))).toEqual([
        [1, 2, 3],
      ]);
    }
  });

  test('nothing more is read for a slot that is not there', () => {
    const plan = cutBatches(buildCut({ tasks: buildTasks(5), more: true, maxBatches: 1 }), 0);
    expect(plan).toMatchObject({ dueAtMs: 0, blocked: 'slots', readMore: false });
  });

  test('a prefix that holds busy keys only asks for more, it does not sleep on tasks that it has not seen', () => {
    const tasks = buildTasks(4, { key: 'a' });
    const plan = cutBatches(buildCut({ tasks, more: true, busyKeys: new Map([['a', 77]]) }), 5);
    expect(plan).toEqual({ batches: [], dueAtMs: 5, blocked: null, readMore: true });
  });
});
