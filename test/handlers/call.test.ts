import type { HandlerOptions, ItemResult, ResultSink } from '../../handlers';
import { callHandler, defineHandler, HaltError, LaterError, RejectedError } from '../../handlers';
import { batchOf, buildContext, errorIn, options, remember } from './build';

const batch = batchOf(2);
const call = (
  submit: Parameters<typeof options>[0],
  context = buildContext(),
  sink: ResultSink = remember(),
  more: Partial<HandlerOptions> = {},
) => callHandler(defineHandler(options(submit, more)), batch, context, sink);

const bothOk: ItemResult[] = [
  { index: 0, status: 'ok', result: 'a' },
  { index: 1, status: 'ok', result: 'b' },
];

describe('answers (H1)', () => {
  test('results go to the sink', async () => {
    const sink = remember();
    expect(await call(() => ({ results: bothOk }), undefined, sink)).toEqual({ kind: 'results', deviants: [] });
    expect([...sink.kept.values()]).toEqual(['a', 'b']);
  });

  test('submit gets the batch, a signal, the key and the deadline', async () => {
    const context = buildContext({ deadline: Date.now() + 5_000 });
    const given: unknown[] = [];
    await call((...args) => given.push(...args), context);
    expect(given[0]).toBe(batch);
    expect(given[1]).toMatchObject({ idempotencyKey: 'key-1', deadline: context.deadline });
    expect((given[1] as { signal: AbortSignal }).signal.aborted).toBe(false);
  });

  test.each([
    [
      { status: 'accepted', reference: 'ref-1' },
      { kind: 'accepted', reference: 'ref-1' },
    ],
    [
      { status: 'later' },
      { kind: 'later', retryAfterMs: undefined, scope: 'target', error: 'the downstream asked to wait' },
    ],
    [
      { status: 'later', retryAfterMs: 7_000, scope: 'handler', error: 'busy' },
      { kind: 'later', retryAfterMs: 7_000, scope: 'handler', error: 'busy' },
    ],
    [
      { status: 'later', retryAfterMs: NaN },
      { kind: 'later', retryAfterMs: undefined },
    ],
    [
      { status: 'later', retryAfterMs: -5 },
      { kind: 'later', retryAfterMs: undefined },
    ],
    [
      { status: 'later', retryAfterMs: 1e15 },
      { kind: 'later', retryAfterMs: 86_400_000 },
    ],
    [
      { status: 'rejected', error: 'bad field' },
      { kind: 'rejected', error: 'bad field' },
    ],
    [{ status: 'rejected' }, { kind: 'rejected', error: 'the downstream refused the call without giving a reason' }],
  ])('%j', async (answer, outcome) => {
    expect(await call(() => answer)).toMatchObject(outcome);
  });

  test.each([
    undefined,
    null,
    5,
    'ok',
    {},
    { status: 'done' },
    { status: 'accepted' },
    { status: 'accepted', reference: '' },
    { status: 'accepted', reference: 7 },
    { status: 'later', results: [] },
    { results: 'all' },
  ])('%j cannot be read: unknown (H2)', async (answer) => {
    const outcome = await call(() => answer);
    expect(outcome.kind).toBe('unknown');
    expect(errorIn(outcome)).toMatch(/^unreadable (answer|results): /);
  });
});

describe('throws (H2)', () => {
  /** A second copy of the classes, as a bundle may have it. */
  class Copy extends Error {
    constructor(
      name: string,
      message: string,
      readonly options?: object,
    ) {
      super(message);
      this.name = name;
    }
  }

  test.each([
    [new RejectedError('bad field'), { kind: 'rejected', error: 'bad field' }],
    [
      new LaterError('busy', { retryAfterMs: 7_000, scope: 'handler' }),
      { kind: 'later', retryAfterMs: 7_000, scope: 'handler', error: 'busy' },
    ],
    [new LaterError('busy'), { kind: 'later', retryAfterMs: undefined, scope: 'target', error: 'busy' }],
    [new HaltError('key expired'), { kind: 'halted', error: 'key expired' }],
    [new Copy('RejectedError', 'a copy'), { kind: 'rejected', error: 'a copy' }],
    [new Copy('LaterError', 'a copy'), { kind: 'later', scope: 'target' }],
    [new Copy('HaltError', ''), { kind: 'halted', error: 'HaltError without a reason' }],
    [new Error('reset', { cause: new Error('ECONNRESET') }), { kind: 'unknown', error: 'reset (cause: ECONNRESET)' }],
    [
      Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }),
      { kind: 'unknown', error: 'refused [ECONNREFUSED]' },
    ],
    ['text', { kind: 'unknown', error: 'thrown: "text"' }],
    [undefined, { kind: 'unknown', error: 'thrown: nothing' }],
  ])('%p', async (thrown, outcome) => {
    const thrower = () => {
      throw thrown;
    };
    expect(await call(thrower)).toMatchObject(outcome);
    // Not even an async function: what throws before its first await is no different.
    const handler = { ...defineHandler(options(() => undefined)), submit: thrower as never };
    expect(await callHandler(handler, batch, buildContext(), remember())).toMatchObject(outcome);
  });

  test('an error that cannot even be read', async () => {
    const unreadable = {
      get name(): string {
        throw new Error('no');
      },
    };
    const outcome = await call(() => {
      throw unreadable;
    });
    expect(outcome).toEqual({ kind: 'unknown', error: 'an error that cannot be read' });
  });

  test('a declared error counts before the first result, and is unknown after it', async () => {
    async function* broken(after: number): AsyncGenerator<ItemResult> {
      for (let index = 0; index < after; index++) yield { index, status: 'ok' };
      throw new RejectedError('refused');
    }
    expect(await call(() => ({ results: broken(0) }))).toEqual({ kind: 'rejected', error: 'refused' });
    const outcome = await call(() => ({ results: broken(1) }));
    expect(outcome).toMatchObject({ kind: 'unknown' });
    expect(errorIn(outcome)).toContain('broke off after 1 were read: RejectedError: refused');
  });

  test('a sink that fails leaves the outcome unknown: the call was made', async () => {
    const outcome = await call(() => ({ results: bothOk }), undefined, {
      add: () => Promise.reject(new RejectedError('not the downstream')),
    });
    expect(outcome.kind).toBe('unknown');
    expect(errorIn(outcome)).toContain('a result could not be stored');
  });

  test('errors are cut to 2,000 characters', async () => {
    expect(
      errorIn(
        await call(() => {
          throw new RejectedError('x'.repeat(9_999));
        }),
      ),
    ).toHaveLength(2_000);
    expect(
      errorIn(
        await call(() => {
          throw new Error('x'.repeat(9_999));
        }),
      ),
    ).toHaveLength(2_000);
  });
});

describe('the deadline', () => {
  const never = () => new Promise(() => undefined);
  const started = () => {
    const at = Date.now();
    return () => Date.now() - at;
  };

  test('aborts the call: unknown outcome, with who aborted it', async () => {
    const heeds: Parameters<typeof options>[0] = (_, { signal }) =>
      new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('stopped midway'))));
    const outcome = await call(heeds, undefined, undefined, { timeoutMs: 50 });
    expect(outcome.kind).toBe('unknown');
    expect(errorIn(outcome)).toMatch(/^aborted, TimeoutError: no end within 50 ms.*stopped midway/);
  });

  test('abandons a submit that ignores its signal', async () => {
    const elapsed = started();
    const outcome = await call(never, buildContext({ deadline: Date.now() + 60 }));
    expect(outcome.kind).toBe('unknown');
    expect(errorIn(outcome)).toContain('did not react');
    expect(elapsed()).toBeGreaterThanOrEqual(60); // and it ended at all: the submit never does
  });

  test('bounds the reading of results too, and closes the sink', async () => {
    const sink = remember();
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    let closed: () => void = () => undefined;
    const end = new Promise<void>((resolve) => {
      closed = resolve;
    });
    async function* stalled(): AsyncGenerator<ItemResult> {
      try {
        yield bothOk[0]!;
        await held;
        yield bothOk[1]!;
      } finally {
        closed();
      }
    }
    const outcome = await call(() => ({ results: stalled() }), undefined, sink, { timeoutMs: 500 });
    expect(outcome.kind).toBe('unknown');
    release();
    await end;
    expect([...sink.kept.keys()]).toEqual([0]);
  });

  test('a submit that knows that nothing was sent is believed after the abort', async () => {
    const knows: Parameters<typeof options>[0] = (_, { signal }) =>
      new Promise((_resolve, reject) =>
        signal.addEventListener('abort', () => reject(new LaterError('still connecting'))),
      );
    expect(await call(knows, undefined, undefined, { timeoutMs: 30 })).toMatchObject({
      kind: 'later',
      error: 'still connecting',
    });
  });

  test('an abort by the worker ends the call, long before the deadline', async () => {
    const stopping = new AbortController();
    const running = call(
      () => {
        setImmediate(() => stopping.abort(new Error('the worker stops')));
        return never();
      },
      buildContext({ signal: stopping.signal }),
    );
    const outcome = await running;
    expect(errorIn(outcome)).toContain('the worker stops');
    expect(outcome.kind).toBe('unknown'); // ended by the abort: at its deadline the error names a TimeoutError
    expect(errorIn(outcome)).not.toContain('TimeoutError');
  });

  test.each([
    ['aborted already', { signal: AbortSignal.abort() }],
    ['late already', { deadline: Date.now() - 1 }],
  ])('%s: nothing is sent, and no attempt is lost', async (_, context) => {
    let calls = 0;
    expect(await call(() => calls++, buildContext(context))).toMatchObject({ kind: 'later', retryAfterMs: 0 });
    expect(calls).toBe(0);
  });

  test('what an abandoned submit throws later is nobody’s unhandled rejection', async () => {
    const unhandled = jest.fn();
    process.on('unhandledRejection', unhandled);
    let fail: (error: Error) => void = () => undefined;
    await call(
      () =>
        new Promise((_, reject) => {
          fail = reject;
        }),
      undefined,
      undefined,
      { timeoutMs: 10 },
    );
    fail(new Error('too late'));
    await new Promise((resolve) => setImmediate(resolve));
    process.off('unhandledRejection', unhandled);
    expect(unhandled).not.toHaveBeenCalled();
  });
});
