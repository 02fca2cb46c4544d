import {
  callHandler,
  cancelReference,
  httpHandler,
  pollReferences,
  readReference,
  reconcileOutcome,
} from '../../../handlers';
import { batchOf, buildContext, errorIn, remember } from '../build';
import type { Answer, Downstream } from '../downstream';
import { json, raw, startDownstream } from '../downstream';
import { httpConfig } from './httpConfig';

/** @slow */

let downstream: Downstream;
beforeAll(async () => {
  downstream = await startDownstream();
});
afterAll(() => downstream.close());
beforeEach(() => {
  downstream.seen.length = 0;
});

const batch = batchOf(3);
const { signal, log } = buildContext();
const bounds = { signal, log };
const env = { TOKEN: 's3cret-value' };

/** An OpenAI-style batch: accepted, polled, results as a file of lines. */
const asynchronous = (changes: Record<string, unknown> = {}) =>
  httpHandler(
    httpConfig(downstream.url, {
      timeoutMs: 2_000,
      request: {
        url: `${downstream.url}/batches`,
        headers: { Authorization: { env: 'TOKEN', prefix: 'Bearer ' }, 'content-type': 'application/json' },
      },
      accepted: { reference: 'job.id' },
      statusUrl: {
        url: `${downstream.url}/batches/{{reference}}`,
        status: 'state',
        statuses: { done: ['READY'] },
        error: 'reason',
      },
      resultsUrl: {
        url: `${downstream.url}/batches/{{reference}}/results`,
        response: {
          decode: 'ndjson',
          matchBy: 'id',
          id: 'custom_id',
          status: { path: 'response.status_code' },
          result: 'response.body',
        },
      },
      cancelUrl: { url: `${downstream.url}/batches/{{reference}}/cancel` },
      ...changes,
    }),
    { env },
  );

/** Answers by path. */
const routes = (table: Record<string, Answer>): Answer => {
  return (response, seen, request) => (table[seen.url] ?? json(500, { no: seen.url }))(response, seen, request);
};

describe('accepted (H1, H7)', () => {
  test('the reference is read from the answer; numbers become text', async () => {
    downstream.answer = json(202, { job: { id: 'b/1' } });
    expect(await callHandler(asynchronous(), batch, buildContext(), remember())).toEqual({
      kind: 'accepted',
      reference: 'b/1',
    });
    downstream.answer = json(201, { job: { id: 17 } });
    const handler = asynchronous({ accepted: { status: 201, reference: 'job.id' } });
    expect(await callHandler(handler, batch, buildContext(), remember())).toEqual({
      kind: 'accepted',
      reference: '17',
    });
  });

  test.each([
    [json(202, { job: {} }), 'expected a reference at job.id, got nothing'],
    [raw(202, ''), 'an empty body'],
    [json(200, { results: 'later' }), 'expected an array of results'],
  ])('an acceptance without a readable reference is unknown', async (answer, evidence) => {
    downstream.answer = answer;
    const outcome = await callHandler(asynchronous(), batch, buildContext(), remember());
    expect(outcome.kind).toBe('unknown');
    expect(errorIn(outcome)).toContain(evidence);
  });
});

describe('status', () => {
  test('of many references, each by its own call, with the request’s credentials', async () => {
    downstream.answer = routes({
      '/batches/a': json(200, { state: 'in_progress' }),
      '/batches/b%2F1': json(200, { state: 'READY' }),
      '/batches/c': json(200, { state: 'expired' }),
      '/batches/d': json(200, { state: 'failed', reason: { code: 'quota' } }),
      '/batches/e': json(404, { message: 'no such batch' }),
      '/batches/f': json(200, { state: 'strange' }),
      '/batches/g': json(503, 'busy'),
      '/batches/h': raw(200, 'no json'),
      '/batches/i': (response) => response.socket?.destroy(),
    });
    const references = ['a', 'b/1', 'c', 'd', 'e', 'f', 'g', 'h', 'i'];
    const outcome = await pollReferences(asynchronous(), references, bounds);
    if (outcome.kind !== 'statuses') throw new Error(JSON.stringify(outcome));
    expect(outcome.statuses.map(({ reference }) => reference)).toEqual(references);
    expect(outcome.statuses.map(({ status }) => status)).toEqual([
      'pending',
      'done',
      'expired',
      'failed',
      'lost',
      'pending',
      'pending',
      'pending',
      'pending',
    ]);
    expect(outcome.statuses[3]!.error).toBe('{"code":"quota"}');
    expect(outcome.statuses[5]!.error).toContain('got "strange"');
    expect(outcome.statuses[6]!.error).toContain('HTTP 503');
    const first = downstream.seen[0]!;
    expect(first).toMatchObject({ method: 'GET', body: '', headers: { authorization: 'Bearer s3cret-value' } });
    expect(first.headers).not.toHaveProperty('content-type');
  });

  test.each([401, 403, 302])('HTTP %i concerns every reference: halted', async (status) => {
    downstream.answer = json(status, {});
    expect(await pollReferences(asynchronous(), ['a', 'b'], bounds)).toMatchObject({
      kind: 'halted',
      error: expect.stringContaining(`HTTP ${status}`) as string,
    });
  });

  test('one that hangs is pending, and does not hold the others', async () => {
    const done = json(200, { state: 'completed' });
    downstream.answer = (response, seen, request) =>
      seen.url === '/batches/a' ? undefined : done(response, seen, request);
    const outcome = await pollReferences(asynchronous({ timeoutMs: 1_500 }), ['a', 'b'], bounds);
    expect(outcome.kind === 'statuses' && outcome.statuses.map(({ status }) => status)).toEqual(['pending', 'done']);
  });
});

describe('results', () => {
  const lines = (...entries: [string, number, unknown][]): string =>
    entries
      .map(([custom_id, status_code, body]) => JSON.stringify({ custom_id, response: { status_code, body } }))
      .join('\n');

  test('are streamed to the sink; what an expired batch lacks is retried', async () => {
    downstream.answer = routes({ '/batches/r/results': raw(200, lines(['t2', 200, 'c'], ['t0', 400, 'a'])) });
    const sink = remember();
    expect(
      await readReference(asynchronous(), 'r', batch.tasks, bounds, sink, { status: 'retry', error: 'expired' }),
    ).toEqual({
      kind: 'results',
      deviants: [
        { index: 0, status: 'failed', error: 'status 400' },
        { index: 1, status: 'retry', error: 'expired' },
      ],
    });
    expect([...sink.kept]).toEqual([
      [2, 'c'],
      [0, 'a'],
    ]);
  });

  test.each([
    ['a 500', json(500, 'busy')],
    [
      'a stream that breaks',
      (response) => void response.writeHead(200).write('{"custom_id"', () => response.socket?.destroy()),
    ],
  ])('%s is read again, a stranger is not', async (_, answer) => {
    downstream.answer = answer;
    expect((await readReference(asynchronous(), 'r', batch.tasks, bounds, remember())).kind).toBe('unread');
    downstream.answer = raw(200, lines(['who', 200, 1]));
    expect((await readReference(asynchronous(), 'r', batch.tasks, bounds, remember())).kind).toBe('unknown');
  });

  test('50,000 lines settle (H8)', async () => {
    const many = batchOf(50_000);
    downstream.answer = raw(
      200,
      lines(...many.tasks.map(({ id }): [string, number, unknown] => [id, 200, { ok: true }])),
    );
    let kept = 0;
    const outcome = await readReference(asynchronous(), 'r', many.tasks, bounds, { add: () => void kept++ });
    expect(outcome).toEqual({ kind: 'results', deviants: [] });
    expect(kept).toBe(50_000);
  });
});

test.each<[number, Record<string, string>, object]>([
  [200, {}, { kind: 'confirmed' }],
  [404, {}, { kind: 'late', error: expect.stringContaining('HTTP 404') }],
  [409, {}, { kind: 'late', error: expect.stringContaining('HTTP 409') }],
  [405, {}, { kind: 'refused', error: expect.stringContaining('HTTP 405') }],
  [401, {}, { kind: 'unanswered', error: expect.stringContaining('HTTP 401') }],
  [429, { 'retry-after': '7' }, { kind: 'unanswered', retryAfterMs: 7_000 }],
  [500, {}, { kind: 'unanswered', error: expect.stringContaining('HTTP 500') }],
])('cancel answered %i', async (status, headers, outcome) => {
  downstream.answer = json(status, {}, headers);
  expect(await cancelReference(asynchronous(), 'r', bounds)).toMatchObject(outcome);
  expect(downstream.seen[0]).toMatchObject({ method: 'POST', url: '/batches/r/cancel' });
});

describe('reconcile (H3)', () => {
  const look = async (answer: Answer, changes: Record<string, unknown> = {}, sink = remember()) => {
    downstream.answer = answer;
    const reconcileUrl = {
      url: `${downstream.url}/calls/{{idempotencyKey}}?of={{target}}`,
      status: 'state',
      reference: 'job',
      ...changes,
    };
    return await reconcileOutcome(
      httpHandler(httpConfig(downstream.url, { reconcileUrl, idempotency: { by: 'batch' } })),
      batch,
      buildContext(),
      sink,
    );
  };
  const results = batch.tasks.map(({ id }) => ({ id, status: 200, value: id }));

  test('asks by the key of the call', async () => {
    await look(json(200, { state: 'unsure' }));
    expect(downstream.seen[0]).toMatchObject({ method: 'GET', url: '/calls/key-1?of=A' });
  });

  test.each([
    [json(200, { state: 'accepted', job: 'j1' }), { kind: 'accepted', reference: 'j1' }],
    [json(200, { state: 'accepted' }), { kind: 'unsure' }],
    [json(200, { state: 'not_found' }), { kind: 'absent' }],
    [json(200, { state: 'odd' }), { kind: 'unsure' }],
    [json(404, {}), { kind: 'absent' }],
    [json(500, {}), { kind: 'unsure' }],
    [json(429, {}), { kind: 'unsure' }],
    [json(401, {}), { kind: 'unsure' }],
    [raw(200, 'no json'), { kind: 'unsure' }],
    [(response) => response.socket?.destroy(), { kind: 'unsure' }],
  ])('row %#', async (answer, outcome) => {
    expect(await look(answer)).toMatchObject(outcome);
  });

  test('done brings the results, from the same answer', async () => {
    const sink = remember();
    expect(await look(json(200, { state: 'done', results }), {}, sink)).toEqual({ kind: 'results', deviants: [] });
    expect([...sink.kept.values()]).toEqual(['t0', 't1', 't2']);
  });

  test('without a status path a 2xx is done, and which statuses mean absent is a setting', async () => {
    expect(await look(json(200, { results }), { status: undefined })).toEqual({ kind: 'results', deviants: [] });
    expect(await look(json(404, {}), { absent: [410] })).toMatchObject({ kind: 'unsure' });
    expect(await look(json(410, {}), { absent: [410] })).toEqual({ kind: 'absent' });
  });
});
