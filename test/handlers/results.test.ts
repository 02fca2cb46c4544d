import fc from 'fast-check';
import type { ItemResult, Results } from '../../handlers';
import { readResults, ResultsInterrupted } from '../../handlers';
import { batchOf, errorIn, remember } from './build';

const { tasks } = batchOf(3);
const read = (results: unknown, sink = remember()) => readResults(results as Results, tasks, sink);

async function* slowly<T>(items: readonly T[]): AsyncGenerator<T> {
  for (const item of items) {
    await new Promise((resolve) => setImmediate(resolve));
    yield item;
  }
}

describe('matching', () => {
  const allOk: ItemResult[] = [
    { id: 't2', status: 'ok', result: 'c' },
    { index: 0, status: 'ok', result: 'a' },
    { id: 't1', index: 1, status: 'ok' },
  ];

  test.each([
    ['an array', allOk],
    ['an iterable', new Set(allOk)],
    ['an async iterable', slowly(allOk)],
  ])('by id and index, from %s, in any order', async (_, results) => {
    const sink = remember();
    expect(await read(results, sink)).toEqual({ kind: 'results', deviants: [] });
    expect([...sink.kept]).toEqual([
      [2, 'c'],
      [0, 'a'],
    ]);
  });

  test('keeps what differs from ok, in member order, and values of ok and failed only', async () => {
    const sink = remember();
    const outcome = await read(
      [
        { id: 't2', status: 'unknown', error: 'who knows', result: 'not kept' },
        { id: 't1', status: 'retry', retryAfterMs: 1_500.2, result: 'not kept' },
        { id: 't0', status: 'failed', error: 'no such address', result: { code: 7 } },
      ],
      sink,
    );
    expect(outcome).toEqual({
      kind: 'results',
      deviants: [
        { index: 0, status: 'failed', error: 'no such address' },
        { index: 1, status: 'retry', retryAfterMs: 1_501 },
        { index: 2, status: 'unknown', error: 'who knows' },
      ],
    });
    expect([...sink.kept]).toEqual([[0, { code: 7 }]]);
  });

  test('a result missing for a member makes that member unknown (H2)', async () => {
    expect(
      await read([
        { id: 't0', status: 'ok' },
        { id: 't2', status: 'ok' },
      ]),
    ).toEqual({
      kind: 'results',
      deviants: [{ index: 1, status: 'unknown', error: 'the answer has no result for this task' }],
    });
  });

  test('an expired batch keeps its partial results and retries the rest (H7)', async () => {
    const outcome = await readResults([{ id: 't1', status: 'ok' }], tasks, remember(), {
      status: 'retry',
      error: 'expired',
    });
    expect(outcome).toEqual({
      kind: 'results',
      deviants: [
        { index: 0, status: 'retry', error: 'expired' },
        { index: 2, status: 'retry', error: 'expired' },
      ],
    });
    expect(await readResults([], tasks, remember(), { status: 'retry', error: 'expired' })).toMatchObject({
      kind: 'results',
    });
  });

  test.each([
    [
      'a stranger',
      [
        { id: 't0', status: 'ok' },
        { id: 'who', status: 'ok' },
      ],
      '"who", which is not in this batch of 3',
    ],
    [
      'a repeated id',
      [
        { id: 't0', status: 'ok' },
        { id: 't0', status: 'ok' },
      ],
      'two results for task "t0" (place 0)',
    ],
    [
      'an id and an index of one member',
      [
        { id: 't0', status: 'ok' },
        { index: 0, status: 'failed' },
      ],
      'two results for task "t0"',
    ],
    ['an index out of range', [{ index: 3, status: 'ok' }], 'expected an index from 0 to 2, got 3'],
    ['a negative index', [{ index: -1, status: 'ok' }], 'got -1'],
    ['an index that is no whole number', [{ index: 0.5, status: 'ok' }], 'got 0.5'],
    ['an index that is text', [{ index: '0', status: 'ok' }], 'got "0"'],
    [
      'id and index of different members',
      [{ id: 't0', index: 1, status: 'ok' }],
      'a result for task "t0" at the place of task "t1"',
    ],
    ['a numeric id', [{ id: 0, status: 'ok' }], 'expected an id (text) or an index, got 0'],
    ['neither id nor index', [{ status: 'ok' }], 'expected an id (text) or an index, got nothing'],
    ['another status', [{ id: 't0', status: 'OK' }], 'expected the status ok, retry, failed, unknown, got "OK"'],
    ['no object', [null], 'expected a result {id or index, status}, got null'],
    ['text', 'ok', 'expected an array or an (async) iterable, got "ok"'],
    ['an object', { t0: 'ok' }, "expected an array or an (async) iterable, got { t0: 'ok' }"],
    ['nothing', undefined, 'got nothing'],
    ['no results at all', [], 'expected 3, got none'],
  ])('%s makes the batch unknown, with the evidence (H2)', async (_, results, evidence) => {
    const outcome = await read(results);
    expect(outcome.kind).toBe('unknown');
    expect(errorIn(outcome)).toContain(evidence);
  });

  test('stops reading at the first unreadable result and closes the stream', async () => {
    let closed = false;
    async function* source(): AsyncGenerator<ItemResult> {
      try {
        yield { id: 'who', status: 'ok' };
        throw new Error('read on');
      } finally {
        closed = true;
      }
    }
    expect((await read(source())).kind).toBe('unknown');
    expect(closed).toBe(true);
  });
});

describe('streams that break', () => {
  test('reject with where and why: the caller knows whether they can be read again', async () => {
    async function* source(): AsyncGenerator<ItemResult> {
      yield { id: 't0', status: 'ok' };
      throw new Error('connection lost');
    }
    const failure = await read(source()).catch((error: unknown) => error);
    expect(failure).toMatchObject({
      name: 'ResultsInterrupted',
      side: 'source',
      read: 1,
      cause: { message: 'connection lost' },
    });
    expect(failure).toBeInstanceOf(ResultsInterrupted);
  });

  test.each([
    [
      'throws',
      () => {
        throw new Error('disk full');
      },
    ],
    ['rejects', () => Promise.reject(new Error('disk full'))],
  ])('name the sink when it %s', async (_, add) => {
    const failure = read([{ id: 't0', status: 'ok', result: 1 }], { add, kept: new Map() });
    await expect(failure).rejects.toMatchObject({
      side: 'sink',
      message: expect.stringContaining('disk full') as string,
    });
  });
});

describe('bounds', () => {
  test('errors are cut to 2,000 characters, made storable, and other things than text are shown', async () => {
    const outcome = await read([
      { id: 't0', status: 'failed', error: 'x'.repeat(5_000) },
      { id: 't1', status: 'failed', error: 'a\0b\ud800' },
      { id: 't2', status: 'failed', error: { code: 7 } },
    ]);
    if (outcome.kind !== 'results') throw new Error(outcome.kind);
    const [long, odd, object] = outcome.deviants.map(({ error }) => error!);
    expect(long).toHaveLength(2_000);
    expect(long!.endsWith('x…')).toBe(true);
    expect(odd).toBe('a\ufffdb\ufffd');
    expect(object).toBe('{ code: 7 }');
  });

  test('50,000 streamed results of 4 KB settle without being held together (H8)', async () => {
    const size = 50_000;
    const { tasks: many } = batchOf(size);
    let most = 0;
    let live = 0;
    async function* source(): AsyncGenerator<ItemResult> {
      for (let index = 0; index < size; index++) {
        most = Math.max(most, ++live);
        yield { id: `t${index}`, status: 'ok', result: `${index}`.padEnd(4_096) };
      }
    }
    const outcome = await readResults(source(), many, {
      add: async () => {
        await Promise.resolve();
        live--;
      },
    });
    expect(outcome).toEqual({ kind: 'results', deviants: [] });
    // One is made, stored, and only then the next is asked for.
    expect(most).toBe(1);
  });
});

describe('properties', () => {
  const status = fc.constantFrom('ok', 'retry', 'failed', 'unknown');
  const member = fc.record({
    status,
    byId: fc.boolean(),
    told: fc.boolean(),
    value: fc.option(fc.integer(), { nil: undefined }),
  });

  test('every member ends exactly once, whatever the order, the key and the kind of iterable', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(member, { minLength: 1, maxLength: 40 }),
        fc.infiniteStream(fc.nat()),
        fc.boolean(),
        async (members, order, isAsync) => {
          const items = members.flatMap(({ status: s, byId, told, value }, index) =>
            told ? [{ ...(byId ? { id: `t${index}` } : { index }), status: s, result: value }] : [],
          );
          fc.pre(items.length > 0);
          const shuffled = items
            .map((item) => ({ item, at: order.next().value as number }))
            .sort((a, b) => a.at - b.at)
            .map(({ item }) => item);
          const sink = remember();
          const outcome = await readResults(isAsync ? slowly(shuffled) : shuffled, batchOf(members.length).tasks, sink);
          if (outcome.kind !== 'results') throw new Error(outcome.kind);
          expect(outcome.deviants.map(({ index, status: s }) => [index, s])).toEqual(
            members.flatMap(({ status: s, told }, index) =>
              told && s === 'ok' ? [] : [[index, told ? s : 'unknown']],
            ),
          );
          const kept = members.flatMap(({ status: s, told, value }, index) =>
            told && value !== undefined && (s === 'ok' || s === 'failed') ? [[index, value]] : [],
          );
          expect([...sink.kept].sort(([a], [b]) => a - b)).toEqual(kept);
        },
      ),
      { numRuns: 150 },
    );
  });

  test('one wrong result anywhere makes the whole batch unknown', async () => {
    const wrong = fc.constantFrom<unknown>(
      { id: 'who', status: 'ok' },
      { index: 99, status: 'ok' },
      { id: 't0', status: 'ok' },
      { id: 't1' },
      5,
      null,
    );
    await fc.assert(
      fc.asyncProperty(fc.nat(3), wrong, async (at, bad) => {
        const items: unknown[] = tasks.map(({ id }) => ({ id, status: 'ok' }));
        items.splice(at, 0, bad);
        expect((await read(items)).kind).toBe('unknown');
      }),
    );
  });

  test('no value whatever makes it throw or settle a member it did not name', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.anything(), { maxLength: 5 }), async (items) => {
        expect((await read(items)).kind).toBe('unknown');
      }),
    );
  });
});
