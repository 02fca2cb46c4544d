import fc from 'fast-check';
import { cutBatches } from '../../workflows/planning/grouping/batches';
import type { CutInput, WaitingTask } from '../../workflows/planning/calls/plans';
import { afterCut, buildCut, buildTask, buildTasks, seqsOf } from './builders';

const NOW_MS = 2_000;

const anyTask = fc.record({
  priority: fc.integer({ min: -1, max: 1 }),
  bytes: fc.integer({ min: 0, max: 40 }),
  weight: fc.integer({ min: 0, max: 8 }),
  readyAtMs: fc.integer({ min: 0, max: NOW_MS }),
  key: fc.option(fc.constantFrom('a', 'b', 'c', 'd'), { freq: 2 }),
});

const anyTasks = fc
  .array(anyTask, { maxLength: 40 })
  .map((tasks): WaitingTask[] =>
    tasks
      .map((task, at) => ({ ...task, seq: at + 1 }))
      .sort((one, two) => one.priority - two.priority || one.seq - two.seq),
  );

const anyLimits = fc.record({
  maxItems: fc.integer({ min: 1, max: 6 }),
  maxBytes: fc.option(fc.integer({ min: 20, max: 120 }), { nil: undefined }),
  overheadBytes: fc.integer({ min: 0, max: 10 }),
  maxWeight: fc.option(fc.integer({ min: 4, max: 20 }), { nil: undefined }),
  minItems: fc.integer({ min: 0, max: 4 }),
  lingerMs: fc.integer({ min: 0, max: 2 * NOW_MS }),
  quietPeriodMs: fc.option(fc.integer({ min: 0, max: NOW_MS }), { nil: undefined }),
});

const anyBudget = fc.option(
  fc.integer({ min: 4, max: 25 }).chain((budget) => fc.tuple(fc.constant(budget), fc.integer({ min: 0, max: budget }))),
);

/**
 * Any queue; busy keys are held by a task of the queue (a retry) or by one elsewhere (seq 1,000).
 */
const anyCut: fc.Arbitrary<CutInput> = fc
  .record({
    tasks: anyTasks,
    limits: anyLimits,
    flushSeq: fc.option(fc.integer({ min: 0, max: 40 }), { freq: 3 }),
    busy: fc.array(fc.tuple(fc.constantFrom('a', 'b', 'c', 'd'), fc.nat(40)), { maxLength: 2 }),
    maxBatches: fc.integer({ min: 0, max: 12 }),
    budget: anyBudget,
  })
  .map(({ busy, budget, ...input }) => {
    const holderOf = (key: string, pick: number): number => {
      const own = input.tasks.filter((task) => task.key === key);
      return own[pick]?.seq ?? 1_000;
    };
    const busyKeys = new Map(busy.map(([key, pick]) => [key, holderOf(key, pick)]));
    const [weightBudget, weightLeft] = budget ?? [undefined, Infinity];
    return { ...input, more: false, busyKeys, weightBudget, weightLeft };
  });

const unbounded = (input: CutInput): CutInput => ({
  ...input,
  maxBatches: Infinity,
  weightLeft: Infinity,
  weightBudget: undefined,
});

/** What may go, said another way than the planner does: pairwise. */
const mayGo = ({ tasks, busyKeys }: CutInput): WaitingTask[] =>
  tasks.filter(({ key, seq }, at) => {
    const holder = key === null ? undefined : busyKeys.get(key);
    if (holder !== undefined) return holder === seq;
    return key === null || !tasks.slice(0, at).some((earlier) => earlier.key === key);
  });

const sum = (numbers: number[]): number => numbers.reduce((all, each) => all + each, 0);
const check = (property: (input: CutInput) => void, input = anyCut) =>
  fc.assert(fc.property(input, property), { numRuns: 500 });

describe('cutBatches, for any queue', () => {
  test('no batch is above a limit, except a single task that is so by itself [A13 G4]', () => {
    check((input) => {
      const { maxItems, maxBytes = Infinity, overheadBytes, maxWeight = Infinity } = input.limits;
      const { batches } = cutBatches(input, NOW_MS);
      expect(batches.length).toBeLessThanOrEqual(input.maxBatches);
      for (const { seqs, bytes, weight } of batches) {
        const members = seqs.map((seq) => input.tasks.find((task) => task.seq === seq)!);
        expect(bytes).toBe(sum(members.map((task) => task.bytes)) + overheadBytes);
        expect(weight).toBe(sum(members.map((task) => task.weight)));
        expect(seqs.length).toBeGreaterThan(0);
        expect(seqs.length).toBeLessThanOrEqual(maxItems);
        if (seqs.length === 1) continue;
        expect(bytes).toBeLessThanOrEqual(maxBytes);
        expect(weight).toBeLessThanOrEqual(maxWeight);
      }
    });
  });

  test('weight in flight stays within the budget, except a single task above all of it, which finds it free [G4]', () => {
    check((input) => {
      let left = input.weightLeft;
      for (const { seqs, weight } of cutBatches(input, NOW_MS).batches) {
        if (weight > left) {
          expect(seqs).toHaveLength(1);
          expect(left).toBe(input.weightBudget);
        }
        left -= weight;
      }
    });
  });

  test('loses and repeats nothing and keeps the order: the batches are a prefix of what may go [A19 A15]', () => {
    check((input) => {
      const plan = cutBatches(input, NOW_MS);
      const cut = seqsOf(plan).flat();
      const seqs = mayGo(input).map((task) => task.seq);
      expect(cut).toEqual(seqs.slice(0, cut.length));
      if (plan.dueAtMs === null) expect(cut).toEqual(seqs);
    });
  });

  test('keys are distinct over the whole plan, and each is the first of its key or its holder [H6]', () => {
    check((input) => {
      const cut = seqsOf(cutBatches(input, NOW_MS)).flat();
      const keys = cut.map((seq) => input.tasks.find((task) => task.seq === seq)!).filter((task) => task.key !== null);
      expect(new Set(keys.map((task) => task.key)).size).toBe(keys.length);
      for (const { key, seq } of keys) {
        const first = input.tasks.find((task) => task.key === key)!;
        expect(seq).toBe(input.busyKeys.get(key!) ?? first.seq);
      }
    });
  });

  test('greedy: a full batch could not take the next task, or stands exactly at its maximum [A12]', () => {
    check((input) => {
      const { maxItems, maxBytes = Infinity, maxWeight = Infinity } = input.limits;
      const waiting = mayGo(input);
      let from = 0;
      for (const { seqs, reason, bytes, weight } of cutBatches(input, NOW_MS).batches) {
        from += seqs.length;
        const next = waiting[from];
        const cap = Math.min(maxWeight, input.weightBudget ?? Infinity);
        if (reason === 'size') expect(seqs).toHaveLength(maxItems);
        else if (reason === 'bytes') expect(bytes + (next?.bytes ?? 1)).toBeGreaterThan(maxBytes);
        else if (reason === 'weight') expect(weight + (next?.weight ?? 1)).toBeGreaterThan(cap);
        else expect(next).toBeUndefined();
      }
    });
  });

  test('cutting again at once gives nothing more, unless tokens were missing', () => {
    check((input) => {
      const plan = cutBatches(input, NOW_MS);
      const again = cutBatches(afterCut(input, plan), NOW_MS);
      expect(again).toEqual({ ...plan, batches: [] });
      if (plan.blocked === null) expect(plan.dueAtMs === null || plan.dueAtMs > NOW_MS).toBe(true);
      else expect(plan.dueAtMs).toBe(NOW_MS);
    });
  });

  test('the due time is exact: nothing a millisecond before it, something at it', () => {
    check((input) => {
      const rest = unbounded(afterCut(input, cutBatches(unbounded(input), NOW_MS)));
      const { dueAtMs } = cutBatches(rest, NOW_MS);
      if (dueAtMs === null) {
        expect(cutBatches(rest, 1e9).batches).toEqual([]);
        return;
      }
      expect(cutBatches(rest, dueAtMs - 1)).toMatchObject({ batches: [], dueAtMs });
      expect(cutBatches(rest, dueAtMs).batches).not.toEqual([]);
    });
  });

  test('no deadlock: with every slot and the whole budget free, what is due goes [G4]', () => {
    check((input) => {
      const free = { ...input, maxBatches: 1, weightLeft: input.weightBudget ?? Infinity };
      const plan = cutBatches(free, NOW_MS);
      if (plan.batches.length === 0) expect(plan.blocked).toBeNull();
    });
  });

  test('how much of the queue was read changes nothing: a prefix decides the same batches or asks for more', () => {
    fc.assert(
      fc.property(anyCut, fc.nat(40), (input, read) => {
        const whole = cutBatches(input, NOW_MS);
        const more = read < input.tasks.length;
        const plan = cutBatches({ ...input, tasks: input.tasks.slice(0, read), more }, NOW_MS);
        expect(plan.batches).toEqual(whole.batches.slice(0, plan.batches.length));
        if (!more) expect(plan).toEqual(whole);
        else if (!plan.readMore) expect(plan.batches).toEqual(whole.batches);
      }),
      { numRuns: 500 },
    );
  });
});

describe('cutBatches, over time', () => {
  test('calls are optimal: ceil(n/B) once the linger is over, floor(n/B) before', () => {
    fc.assert(
      fc.property(fc.nat(200), fc.integer({ min: 1, max: 20 }), (n, maxItems) => {
        const input = buildCut({ tasks: buildTasks(n), limits: { maxItems } });
        expect(cutBatches(input, 999).batches).toHaveLength(Math.floor(n / maxItems));
        expect(cutBatches(input, 1_000).batches).toHaveLength(Math.ceil(n / maxItems));
      }),
    );
  });

  test('chunks of arrivals do not matter: cut after each chunk, or once after all, gives the same full batches', () => {
    fc.assert(
      fc.property(anyLimits, fc.array(fc.array(anyTask, { maxLength: 8 }), { maxLength: 8 }), (limits, chunks) => {
        const patient = { ...limits, lingerMs: 1e9, quietPeriodMs: undefined };
        // In arrival order, without keys and with bytes: a chunk ends where the next one begins.
        const plain = chunks.map((chunk) =>
          chunk.map((task) => ({ ...task, key: null, bytes: task.bytes + 1, weight: task.weight + 1 })),
        );
        const all = plain.flat().map((task, at) => buildTask({ ...task, seq: at + 1 }));
        let input = buildCut({ limits: patient });
        const batches: number[][] = [];
        let arrived = 0;
        for (const chunk of plain) {
          const tasks = [...input.tasks, ...all.slice(arrived, (arrived += chunk.length))];
          const plan = cutBatches({ ...input, tasks }, NOW_MS);
          batches.push(...seqsOf(plan));
          input = { ...input, tasks: afterCut({ ...input, tasks }, plan).tasks };
        }
        expect(batches).toEqual(seqsOf(cutBatches(buildCut({ tasks: all, limits: patient }), NOW_MS)));
      }),
    );
  });

  test('wakes that are not needed change nothing: same batches at the same times', () => {
    const wakes = fc.array(fc.nat(6_000), { maxLength: 30 });
    fc.assert(
      fc.property(anyTasks, anyLimits, wakes, (tasks, limits, extraMs) => {
        expect(lead(tasks, limits, extraMs)).toEqual(lead(tasks, limits, []));
      }),
      { examples: [[KEY_GIVEN_BACK, TWO_OR_FIVE, [1]]], numRuns: 300 },
    );
  });
});

/**
 * Found by chance: the end of the first task's call gives its key back, and the rest is full
 * without waiting for its linger.
 */
const KEY_GIVEN_BACK = [
  buildTask({ seq: 1, weight: 2, key: 'd' }),
  buildTask({ seq: 2, weight: 4 }),
  buildTask({ seq: 3, weight: 0, key: 'd' }),
];
const TWO_OR_FIVE = {
  maxItems: 2,
  maxBytes: undefined,
  overheadBytes: 0,
  maxWeight: 5,
  minItems: 0,
  lingerMs: 2,
  quietPeriodMs: undefined,
};

/**
 * A leader that looks at every arrival, at every due time it was told, and at `extraMs`; calls end
 * at once.
 */
function lead(tasks: readonly WaitingTask[], limits: CutInput['limits'], extraMs: readonly number[]) {
  const told = new Set([...tasks.map((task) => task.readyAtMs), ...extraMs]);
  const sent: { atMs: number; seqs: number[]; reason: string }[] = [];
  let queue = tasks;
  let looks = 0;
  while (told.size > 0) {
    const atMs = Math.min(...told);
    told.delete(atMs);
    if (++looks > 10_000) throw new Error(`expected the leader to end, still looking at ${atMs}`);
    const ready = queue.filter((task) => task.readyAtMs <= atMs);
    const plan = cutBatches(buildCut({ tasks: ready, limits }), atMs);
    sent.push(...plan.batches.map(({ seqs, reason }) => ({ atMs, seqs, reason })));
    const taken = new Set(seqsOf(plan).flat());
    queue = queue.filter((task) => !taken.has(task.seq));
    if (plan.dueAtMs !== null) told.add(plan.dueAtMs);
    // The calls ended: keys that are given back ring the target, and it is looked at again.
    if (taken.size > 0 && ready.some(({ seq, key }) => key !== null && !taken.has(seq))) told.add(atMs);
  }
  expect(sent.flatMap(({ seqs }) => seqs).sort((one, two) => one - two)).toEqual(
    tasks.map(({ seq }) => seq).sort((one, two) => one - two),
  );
  return sent;
}
