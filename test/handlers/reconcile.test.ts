import type { HandlerOptions, ItemResult } from '../../handlers';
import {
  defineHandler,
  HaltError,
  LaterError,
  neverSent,
  pollReferences,
  readReference,
  reconcileOutcome,
  RejectedError,
} from '../../handlers';
import { batchOf, buildContext, options, remember } from './build';

const batch = batchOf(2);
const bothOk: ItemResult[] = [
  { index: 0, status: 'ok', result: 'a' },
  { index: 1, status: 'ok', result: 'b' },
];

describe('reconcile (H3)', () => {
  const look = (reconcile: unknown, sink = remember()) =>
    reconcileOutcome(
      defineHandler(options(() => undefined, { reconcile: reconcile as HandlerOptions['reconcile'] })),
      batch,
      buildContext(),
      sink,
    );

  test.each([
    [
      { status: 'accepted', reference: 'r' },
      { kind: 'accepted', reference: 'r' },
    ],
    [{ status: 'absent' }, { kind: 'absent' }],
    [{ status: 'unsure' }, { kind: 'unsure' }],
    [{ status: 'done', results: [{ id: 'who', status: 'ok' }] }, { kind: 'unknown' }],
    [{ status: 'rejected', error: 'x' }, { kind: 'unsure' }],
    [undefined, { kind: 'unsure' }],
  ])('%j', async (answer, outcome) => {
    expect(await look(async () => answer)).toMatchObject(outcome);
  });

  test('done brings its results', async () => {
    const sink = remember();
    expect(await look(async () => ({ status: 'done', results: bothOk }), sink)).toEqual({
      kind: 'results',
      deviants: [],
    });
    expect(sink.kept.size).toBe(2);
  });

  test.each([new RejectedError('x'), new LaterError('x'), new HaltError('x'), new Error('x')])(
    'a look-up that throws %p is unsure: it must never look as if nothing had been applied',
    async (thrown) => {
      expect(await look(() => Promise.reject(thrown))).toMatchObject({
        kind: 'unsure',
        error: expect.stringContaining('the look-up failed') as string,
      });
    },
  );

  test('a handler without reconcile is unsure, and one that hangs is bounded', async () => {
    expect((await look(undefined)).kind).toBe('unsure');
    const hangs = defineHandler(
      options(() => undefined, { timeoutMs: 20, reconcile: () => new Promise(() => undefined) }),
    );
    expect(await reconcileOutcome(hangs, batch, buildContext(), remember())).toMatchObject({ kind: 'unsure' });
  });
});

describe('polling (H7)', () => {
  const { signal, log } = buildContext();
  const bounds = { signal, log };
  const polled = (status: unknown, results: HandlerOptions['results'] = () => [], more = {}) =>
    defineHandler(options(() => undefined, { status: status as HandlerOptions['status'], results, ...more }));

  test('answers for every reference asked for, in that order; what it leaves out is pending', async () => {
    const answer = [
      { reference: 'c', status: 'failed', error: 'no quota' },
      { reference: 'a', status: 'done' },
      { reference: 'z', status: 'done' },
      { reference: 'd', status: 'odd' },
    ];
    expect(
      await pollReferences(
        polled(async () => answer),
        ['a', 'b', 'c', 'd'],
        bounds,
      ),
    ).toEqual({
      kind: 'statuses',
      statuses: [
        { reference: 'a', status: 'done' },
        { reference: 'b', status: 'pending', error: 'the answer did not mention it' },
        { reference: 'c', status: 'failed', error: 'no quota' },
        { reference: 'd', status: 'pending', error: 'unreadable status "odd"' },
      ],
    });
  });

  test.each([
    [new HaltError('key expired'), { kind: 'halted', error: 'key expired' }],
    [new LaterError('busy', { retryAfterMs: 5 }), { kind: 'later', retryAfterMs: 5 }],
    [new Error('reset'), { kind: 'failed', error: 'reset' }],
  ])('a round that throws %p says nothing of the batches', async (thrown, outcome) => {
    expect(
      await pollReferences(
        polled(() => Promise.reject(thrown)),
        ['a'],
        bounds,
      ),
    ).toMatchObject(outcome);
  });

  test('a round that hangs or answers nonsense has failed', async () => {
    expect(
      await pollReferences(
        polled(() => new Promise(() => undefined), undefined, { timeoutMs: 20 }),
        ['a'],
        bounds,
      ),
    ).toMatchObject({ kind: 'failed' });
    expect(
      await pollReferences(
        polled(async () => 'done'),
        ['a'],
        bounds,
      ),
    ).toMatchObject({ kind: 'failed' });
  });

  test('results are streamed to the sink; a stream that breaks is read again, one that is wrong is not', async () => {
    const sink = remember();
    expect(
      await readReference(
        polled(undefined, () => bothOk),
        'r',
        batch.tasks,
        bounds,
        sink,
      ),
    ).toEqual({ kind: 'results', deviants: [] });
    expect(sink.kept.size).toBe(2);
    const broken = polled(undefined, () => Promise.reject(new Error('reset')));
    expect(await readReference(broken, 'r', batch.tasks, bounds, sink)).toEqual({
      kind: 'unread',
      error: 'reset',
    });
    const wrong = polled(undefined, () => [{ id: 'who', status: 'ok' as const }]);
    expect(await readReference(wrong, 'r', batch.tasks, bounds, sink)).toMatchObject({ kind: 'unknown' });
    const expired = polled(undefined, () => [bothOk[0]!]);
    expect(await readReference(expired, 'r', batch.tasks, bounds, sink, { status: 'retry', error: 'expired' })).toEqual(
      {
        kind: 'results',
        deviants: [{ index: 1, status: 'retry', error: 'expired' }],
      },
    );
  });
});

describe('neverSent, for handlers that make one request by themselves', () => {
  test.each([
    [{ code: 'ECONNREFUSED' }, true],
    [new TypeError('fetch failed', { cause: { code: 'ENOTFOUND' } }), true],
    [{ code: 'UND_ERR_CONNECT_TIMEOUT' }, true],
    [{ errors: [{ code: 'ECONNREFUSED' }, { code: 'ENETUNREACH' }] }, true],
    [{ errors: [{ code: 'ECONNREFUSED' }, { code: 'ECONNRESET' }] }, false],
    [{ code: 'ETIMEDOUT', syscall: 'connect' }, true],
    [{ code: 'ETIMEDOUT', syscall: 'read' }, false],
    [{ code: 'ECONNRESET' }, false],
    [new Error('x'), false],
    [undefined, false],
  ])('%p: %p', (thrown, answer) => {
    expect(neverSent(thrown)).toBe(answer);
  });
});
