import { callHandler, httpHandler } from '../../../handlers';
import { buildBatch, buildContext, errorIn, remember } from '../build';
import type { Answer } from '../downstream';
import { json, raw } from '../downstream';
import { httpCaller, items } from './httpCaller';
import { httpConfig } from './httpConfig';

const http = httpCaller();

describe('the request', () => {
  test('carries the encoded items, the headers and the secret', async () => {
    const headers = { Authorization: { env: 'TOKEN', prefix: 'Bearer ' }, 'X-Version': '2' };
    await http.call(json(200, items('ok')), {
      request: {
        url: `${http.downstream.url}/{{target}}/batch`,
        method: 'PUT',
        headers,
        item: '{{payload}}',
        envelope: { items: '{{items}}' },
      },
    });
    expect(http.downstream.seen).toHaveLength(1);
    expect(http.downstream.seen[0]).toMatchObject({
      method: 'PUT',
      url: '/A/batch',
      body: '{"items":[{"n":0},{"n":1},{"n":2}]}',
      headers: {
        authorization: 'Bearer s3cret-value',
        'x-version': '2',
        'content-type': 'application/json',
        accept: 'application/json',
        'user-agent': 'muster',
      },
    });
    expect(http.downstream.seen[0]!.headers).not.toHaveProperty('idempotency-key');
  });

  test.each([
    [{ idempotency: { by: 'batch' } }, 'idempotency-key'],
    [{ idempotency: { by: 'task' } }, 'idempotency-key'],
    [{ idempotency: { by: 'batch' }, idempotencyHeader: 'X-Request-Id' }, 'x-request-id'],
    [{ reconcileUrl: { url: 'http://localhost/{{idempotencyKey}}' } }, 'idempotency-key'],
  ])('with %j carries the key in %s, the same at every attempt', async (changes, header) => {
    await http.call(json(200, items(200)), changes);
    await http.call(json(200, items(200)), changes);
    expect(http.downstream.seen.map(({ headers }) => headers[header])).toEqual(['key-1', 'key-1']);
  });

  test('carries the trace context of the call, unless the configuration has a header of that name', async () => {
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    const traced = { ...buildContext(), traceparent };
    await http.call(json(200, items(200)), {}, traced);
    await http.call(json(200, items(200)));
    await http.call(
      json(200, items(200)),
      { request: { url: http.downstream.url, headers: { traceparent: 'own' } } },
      traced,
    );
    expect(http.downstream.seen.map(({ headers }) => headers['traceparent'])).toEqual([traceparent, undefined, 'own']);
  });

  test('a target that would climb out of its place in the path is refused, not sent', async () => {
    const handler = httpHandler(
      httpConfig(http.downstream.url, { request: { url: `${http.downstream.url}/indices/{{target}}/_bulk` } }),
    );
    for (const target of ['..', '.']) {
      const outcome = await callHandler(handler, buildBatch([{ n: 1 }], target), buildContext(), remember());
      expect(outcome).toMatchObject({ kind: 'rejected' });
    }
    http.downstream.answer = json(200, items(200));
    await callHandler(handler, buildBatch([{ n: 1 }], '../x?a=b#c'), buildContext(), remember());
    expect(http.downstream.seen.map(({ url }) => url)).toEqual(['/indices/..%2Fx%3Fa%3Db%23c/_bulk']);
  });

  test.each([
    [
      'lacks what the template takes',
      [{ n: 1 }, {}],
      {},
      'task "t1" cannot be encoded: expected a value for {{payload.n}}',
    ],
    [
      'is longer than maxBytes once encoded',
      [{ n: 'x'.repeat(100) }],
      { limits: { maxItems: 5, maxBytes: 100 } },
      'at most 100 bytes (limits.maxBytes) of the encoded call, got 120',
    ],
  ])('a batch that %s is rejected without a call', async (_, payloads, changes, error) => {
    const handler = httpHandler(httpConfig(http.downstream.url, changes));
    const outcome = await callHandler(handler, buildBatch<unknown>(payloads), buildContext(), remember());
    expect(outcome.kind).toBe('rejected');
    expect(errorIn(outcome)).toContain(error);
    expect(http.downstream.seen).toHaveLength(0);
  });
});

describe('a 2xx answer (table of handlers.md)', () => {
  test('all tasks are ok, with their values', async () => {
    const sink = remember();
    const results = [2, 0, 1].map((n) => ({ id: `t${n}`, status: 200, value: { n } }));
    expect(await http.call(json(200, { results }), {}, undefined, sink)).toEqual({ kind: 'results', deviants: [] });
    expect([...sink.kept]).toEqual([
      [2, { n: 2 }],
      [0, { n: 0 }],
      [1, { n: 1 }],
    ]);
  });

  test('one task has failed, one is to be tried again', async () => {
    const results = [
      { id: 't0', status: 201 },
      { id: 't1', status: 404, error: 'no such user' },
      { id: 't2', status: 429 },
    ];
    expect(await http.call(json(207, { results }))).toEqual({
      kind: 'results',
      deviants: [
        { index: 1, status: 'failed', error: 'no such user' },
        { index: 2, status: 'retry', error: 'status 429' },
      ],
    });
  });

  test('one missing: that member is unknown', async () => {
    expect(await http.call(json(200, items(200, 200)))).toMatchObject({
      kind: 'results',
      deviants: [{ index: 2, status: 'unknown' }],
    });
  });

  test.each([
    ['a stranger', json(200, { results: [{ id: 'who', status: 200 }] }), '"who", which is not in this batch'],
    [
      'a duplicate',
      json(200, {
        results: [
          { id: 't0', status: 200 },
          { id: 't0', status: 200 },
        ],
      }),
      'two results for task "t0"',
    ],
    ['no id', json(200, { results: [{ status: 200, key: 't0' }] }), "no id at id of { status: 200, key: 't0' }"],
    ['not JSON', raw(200, '<html>Welcome to the gateway</html>'), 'HTTP 200: the answer is not JSON'],
    ['an empty body', raw(200, ''), 'an empty body'],
    ['another shape', json(200, { items: [] }), 'expected an array of results at results, got { items: [] }'],
    ['half a JSON', raw(200, '{"results": [{"id": "t0", "status": 2'), 'the answer is not JSON'],
    [
      'an encoding nobody asked for',
      raw(200, '\u001f\u008b', { 'content-encoding': 'gzip' }),
      'content-encoding "gzip", which was not asked for',
    ],
  ])('%s: all unknown, with the evidence', async (_, answer, evidence) => {
    const outcome = await http.call(answer);
    expect(outcome.kind).toBe('unknown');
    expect(errorIn(outcome)).toContain(evidence);
  });

  test('evidence is the first 500 characters', async () => {
    const error = errorIn(await http.call(raw(200, `start ${'x'.repeat(900)} end`)));
    expect(error).toContain(`"start ${'x'.repeat(494)}"…`);
  });

  test.each([
    ['with a length', { 'content-length': '1000' }],
    ['in chunks', { 'transfer-encoding': 'chunked' }],
  ])('truncated, %s: all unknown, with what came', async (_, headers) => {
    const outcome = await http.call((response) => {
      response.writeHead(200, headers as Record<string, string>);
      response.write('{"results": [{"id": "t0"', () => response.socket?.destroy());
    });
    expect(outcome.kind).toBe('unknown');
    expect(errorIn(outcome)).toMatch(/^HTTP 200: the answer broke off after 24 bytes .*results/);
  });

  test('over the size limit: all unknown, and the rest is not received', async () => {
    let written = 0;
    const outcome = await http.call(
      (response) => {
        response.writeHead(200);
        const more = (): void => {
          if (response.destroyed || written > 50_000_000) return;
          written += 65_536;
          response.write('x'.repeat(65_536), more);
        };
        more();
      },
      { maxResponseBytes: 1_000 },
    );
    expect(outcome.kind).toBe('unknown');
    expect(errorIn(outcome)).toMatch(/^HTTP 200: the answer is longer than maxResponseBytes \(1,000\): "xxx/);
    expect(written).toBeLessThan(50_000_000);
  });

  test('exactly at the size limit is read', async () => {
    const body = JSON.stringify(items(200, 200, 200));
    expect(await http.call(raw(200, body), { maxResponseBytes: body.length })).toEqual({
      kind: 'results',
      deviants: [],
    });
    expect((await http.call(raw(200, body), { maxResponseBytes: body.length - 1 })).kind).toBe('unknown');
  });

  test('more values than fit into memory, whatever they are, are not parsed: all unknown', async () => {
    const most = 2_097_152;
    const said = /^HTTP 200: expected at most 2,097,152 JSON values and names, got more: "/;
    for (const body of [
      `[${'[],'.repeat(most)}0]`,
      `{"x":${'['.repeat(600)}${']'.repeat(600)},"results":[${'0,'.repeat(most)}0]}`,
    ]) {
      const outcome = await http.call(raw(200, body));
      expect(outcome.kind).toBe('unknown');
      expect(errorIn(outcome)).toMatch(said);
    }
    const many = raw(
      200,
      JSON.stringify({ ...items(200, 200, 200), more: Array.from({ length: most - 20 }, () => 0) }),
    );
    expect(await http.call(many)).toEqual({ kind: 'results', deviants: [] });
  });

  test('with perItem false a 2xx is every item’s success, once its body has ended', async () => {
    const response = { perItem: false };
    expect(await http.call(raw(204, ''), { response })).toEqual({ kind: 'results', deviants: [] });
    expect(await http.call(raw(200, 'thanks'), { response })).toEqual({ kind: 'results', deviants: [] });
    const cut: Answer = (answer) => {
      answer.writeHead(200, { 'content-length': '100' });
      answer.write('tha', () => answer.socket?.destroy());
    };
    expect((await http.call(cut, { response })).kind).toBe('unknown');
  });
});
