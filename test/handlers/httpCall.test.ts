import type { Batch, ResultSink } from '../../activities/handlers';
import { callHandler, httpHandler } from '../../activities/handlers';
import { batchOf, buildBatch, buildContext, errorIn, remember } from './build';
import type { Answer, Downstream } from './downstream';
import { closedPort, json, raw, startDownstream } from './downstream';
import { httpConfig } from './httpConfig';

let downstream: Downstream;
beforeAll(async () => {
  downstream = await startDownstream();
});
afterAll(() => downstream.close());
beforeEach(() => {
  downstream.seen.length = 0;
});

const batch: Batch = batchOf(3);
const env = { TOKEN: 's3cret-value' };
const call = async (
  answer: Answer,
  changes: Record<string, unknown> = {},
  context = buildContext(),
  sink: ResultSink = remember(),
) => {
  downstream.answer = answer;
  return await callHandler(httpHandler(httpConfig(downstream.url, changes), { env }), batch, context, sink);
};
const items = (...statuses: unknown[]) => ({ results: statuses.map((status, n) => ({ id: `t${n}`, status })) });

describe('the request', () => {
  test('carries the encoded items, the headers and the secret', async () => {
    const headers = { Authorization: { env: 'TOKEN', prefix: 'Bearer ' }, 'X-Version': '2' };
    await call(json(200, items('ok')), {
      request: {
        url: `${downstream.url}/{{target}}/batch`,
        method: 'PUT',
        headers,
        item: '{{payload}}',
        envelope: { items: '{{items}}' },
      },
    });
    expect(downstream.seen).toHaveLength(1);
    expect(downstream.seen[0]).toMatchObject({
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
    expect(downstream.seen[0]!.headers).not.toHaveProperty('idempotency-key');
  });

  test.each([
    [{ idempotency: { by: 'batch' } }, 'idempotency-key'],
    [{ idempotency: { by: 'task' } }, 'idempotency-key'],
    [{ idempotency: { by: 'batch' }, idempotencyHeader: 'X-Request-Id' }, 'x-request-id'],
    [{ reconcileUrl: { url: 'http://localhost/{{idempotencyKey}}' } }, 'idempotency-key'],
  ])('with %j carries the key in %s, the same at every attempt', async (changes, header) => {
    await call(json(200, items(200)), changes);
    await call(json(200, items(200)), changes);
    expect(downstream.seen.map(({ headers }) => headers[header])).toEqual(['key-1', 'key-1']);
  });

  test('a target that would climb out of its place in the path is refused, not sent', async () => {
    const handler = httpHandler(
      httpConfig(downstream.url, { request: { url: `${downstream.url}/indices/{{target}}/_bulk` } }),
    );
    for (const target of ['..', '.']) {
      const outcome = await callHandler(handler, buildBatch([{ n: 1 }], target), buildContext(), remember());
      expect(outcome).toMatchObject({ kind: 'rejected' });
    }
    downstream.answer = json(200, items(200));
    await callHandler(handler, buildBatch([{ n: 1 }], '../x?a=b#c'), buildContext(), remember());
    expect(downstream.seen.map(({ url }) => url)).toEqual(['/indices/..%2Fx%3Fa%3Db%23c/_bulk']);
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
    const handler = httpHandler(httpConfig(downstream.url, changes));
    const outcome = await callHandler(handler, buildBatch<unknown>(payloads), buildContext(), remember());
    expect(outcome.kind).toBe('rejected');
    expect(errorIn(outcome)).toContain(error);
    expect(downstream.seen).toHaveLength(0);
  });
});

describe('a 2xx answer (table of handlers.md)', () => {
  test('all ok, with their values', async () => {
    const sink = remember();
    const results = [2, 0, 1].map((n) => ({ id: `t${n}`, status: 200, value: { n } }));
    expect(await call(json(200, { results }), {}, undefined, sink)).toEqual({ kind: 'results', deviants: [] });
    expect([...sink.kept]).toEqual([
      [2, { n: 2 }],
      [0, { n: 0 }],
      [1, { n: 1 }],
    ]);
  });

  test('one failed, one retry', async () => {
    const results = [
      { id: 't0', status: 201 },
      { id: 't1', status: 404, error: 'no such user' },
      { id: 't2', status: 429 },
    ];
    expect(await call(json(207, { results }))).toEqual({
      kind: 'results',
      deviants: [
        { index: 1, status: 'failed', error: 'no such user' },
        { index: 2, status: 'retry', error: 'status 429' },
      ],
    });
  });

  test('one missing: that member is unknown', async () => {
    expect(await call(json(200, items(200, 200)))).toMatchObject({
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
    const outcome = await call(answer);
    expect(outcome.kind).toBe('unknown');
    expect(errorIn(outcome)).toContain(evidence);
  });

  test('evidence is the first 500 characters', async () => {
    const error = errorIn(await call(raw(200, `start ${'x'.repeat(900)} end`)));
    expect(error).toContain(`"start ${'x'.repeat(494)}"…`);
  });

  test.each([
    ['with a length', { 'content-length': '1000' }],
    ['in chunks', { 'transfer-encoding': 'chunked' }],
  ])('truncated, %s: all unknown, with what came', async (_, headers) => {
    const outcome = await call((response) => {
      response.writeHead(200, headers as Record<string, string>);
      response.write('{"results": [{"id": "t0"', () => response.socket?.destroy());
    });
    expect(outcome.kind).toBe('unknown');
    expect(errorIn(outcome)).toMatch(/^HTTP 200: the answer broke off after 24 bytes .*results/);
  });

  test('over the size limit: all unknown, and the rest is not received', async () => {
    let written = 0;
    const outcome = await call(
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
    expect(await call(raw(200, body), { maxResponseBytes: body.length })).toEqual({ kind: 'results', deviants: [] });
    expect((await call(raw(200, body), { maxResponseBytes: body.length - 1 })).kind).toBe('unknown');
  });

  test('with perItem false a 2xx is every item’s success, once its body has ended', async () => {
    const response = { perItem: false };
    expect(await call(raw(204, ''), { response })).toEqual({ kind: 'results', deviants: [] });
    expect(await call(raw(200, 'thanks'), { response })).toEqual({ kind: 'results', deviants: [] });
    const cut: Answer = (answer) => {
      answer.writeHead(200, { 'content-length': '100' });
      answer.write('tha', () => answer.socket?.destroy());
    };
    expect((await call(cut, { response })).kind).toBe('unknown');
  });
});

describe('statuses of items', () => {
  const deviants = async (response: object, ...results: unknown[]) => {
    const outcome = await call(
      json(
        200,
        results.map((result, n) => ({ id: `t${n}`, ...(result as object) })),
      ),
      { response: { matchBy: 'id', result: false, ...response } },
    );
    return outcome.kind === 'results' ? outcome.deviants.map(({ status }) => status) : outcome;
  };

  test('unlisted numbers mean what they mean in HTTP', async () => {
    const response = { status: { path: 'code' } };
    expect(await deviants(response, { code: 200 }, { code: 422 }, { code: 503 })).toEqual(['failed', 'retry']);
    expect(await deviants(response, { code: '429' }, { code: 302 }, { code: 7 })).toEqual([
      'retry',
      'failed',
      'unknown',
    ]);
    expect(await deviants(response, { code: 'fine' }, { code: null }, {})).toEqual(['unknown', 'unknown', 'unknown']);
  });

  test('lists take precedence, exact ones over classes; text and booleans too', async () => {
    const status = {
      path: 'code',
      ok: [409, 'created', true],
      retry: ['4xx'],
      failed: [404, 'bad'],
      otherwise: 'failed',
    };
    expect(await deviants({ status }, { code: 409 }, { code: 418 }, { code: 404 })).toEqual(['retry', 'failed']);
    expect(await deviants({ status }, { code: 'created' }, { code: true }, { code: 'other' })).toEqual(['failed']);
  });

  test('without a status path an error makes an item failed', async () => {
    const outcome = await call(
      json(200, [{ id: 't0', error: null }, { id: 't1', error: { code: -32_000 } }, { id: 't2' }]),
      { response: { matchBy: 'id', error: 'error' } },
    );
    expect(outcome).toEqual({ kind: 'results', deviants: [{ index: 1, status: 'failed', error: '{"code":-32000}' }] });
  });

  test('numeric ids are text', async () => {
    downstream.answer = json(200, [{ id: 7, status: 200 }]);
    const handler = httpHandler(
      httpConfig(downstream.url, { response: { matchBy: 'id', status: { path: 'status' } } }),
    );
    const seven = { ...batchOf(1), tasks: [{ id: '7', payload: { n: 1 }, attempts: 0 }] };
    expect(await callHandler(handler, seven, buildContext(), remember())).toEqual({ kind: 'results', deviants: [] });
  });

  test.each([2, 4])('by position %i results for 3 tasks leave all of them in doubt', async (count) => {
    const response = { matchBy: 'position', status: { path: 's' } };
    const outcome = await call(
      json(
        200,
        Array.from({ length: count }, () => ({ s: 200 })),
      ),
      { response },
    );
    expect(outcome).toMatchObject({ kind: 'unknown' });
    expect(errorIn(outcome)).toContain(`expected 3 results, one per position, got ${count}`);
  });
});

describe('NDJSON answers', () => {
  const response = { decode: 'ndjson', matchBy: 'id', status: { path: 's' }, result: 'v' };
  const lines = ['{"id":"t0","s":200,"v":"ü"}', '', '{"id":"t2","s":400,"v":2}\r', '{"id":"t1","s":200}'].join('\n');

  test('are streamed line by line, however the bytes are cut', async () => {
    const sink = remember();
    const outcome = await call(
      (answer) => {
        answer.writeHead(200);
        const bytes = [...Buffer.from(lines)];
        const next = (): void =>
          void (bytes.length === 0 ? answer.end() : answer.write(Buffer.from(bytes.splice(0, 5)), next));
        next();
      },
      { response },
      undefined,
      sink,
    );
    expect(outcome).toMatchObject({ kind: 'results', deviants: [{ index: 2, status: 'failed' }] });
    expect([...sink.kept]).toEqual([
      [0, 'ü'],
      [2, 2],
    ]);
  });

  test.each([
    ['a line that is not JSON', '{"id":"t0","s":200}\nnot json\n', 'after 1 results: the answer is not JSON'],
    ['more than the limit', `${lines}\n${' '.repeat(2_000)}`, 'longer than maxResponseBytes (1,000)'],
  ])('%s: all unknown', async (_, body, evidence) => {
    const outcome = await call(raw(200, body), { response, maxResponseBytes: 1_000 });
    expect(outcome.kind).toBe('unknown');
    expect(errorIn(outcome)).toContain(evidence);
  });

  test('broken off, or too few by position: all unknown', async () => {
    const cut: Answer = (answer) => {
      answer.writeHead(200);
      answer.write('{"id":"t0","s":200}\n{"id', () => answer.socket?.destroy());
    };
    expect((await call(cut, { response })).kind).toBe('unknown');
    expect((await call(raw(200, '{"s":200}\n'), { response: { ...response, matchBy: 'position' } })).kind).toBe(
      'unknown',
    );
  });
});

describe('other statuses (table of handlers.md, H4, H5)', () => {
  test.each([
    [400, 'rejected'],
    [413, 'rejected'],
    [422, 'rejected'],
    [401, 'halted'],
    [403, 'halted'],
    [404, 'halted'],
    [402, 'halted'],
    [405, 'halted'],
    [410, 'halted'],
    [415, 'halted'],
    [418, 'halted'],
    [501, 'halted'],
    [425, 'later'],
    [429, 'later'],
    [503, 'later'],
    [408, 'unknown'],
    [409, 'unknown'],
    [500, 'unknown'],
    [502, 'unknown'],
    [504, 'unknown'],
    [599, 'unknown'],
    [301, 'halted'],
    [302, 'halted'],
    [303, 'halted'],
    [307, 'halted'],
    [308, 'halted'],
  ])('%i: %s, with what the body says', async (status, kind) => {
    const outcome = await call(
      json(status, { message: 'because' }, status < 400 ? { location: `${downstream.url}/elsewhere` } : {}),
    );
    expect(outcome.kind).toBe(kind);
    expect(errorIn(outcome)).toContain(`HTTP ${status}`);
    expect(errorIn(outcome)).toContain('because');
    expect(downstream.seen).toHaveLength(1);
  });

  test('a redirect says where it led and that it was not followed', async () => {
    const outcome = await call(raw(302, '', { location: '/elsewhere' }));
    expect(errorIn(outcome)).toContain('HTTP 302 to "/elsewhere": redirects are not followed');
    expect(downstream.seen).toHaveLength(1);
  });

  test('answers chooses otherwise, exact statuses over classes', async () => {
    const answers = { later: ['5xx'], unknown: [503], rejected: [404], halt: [422] };
    const kinds: string[] = [];
    for (const status of [500, 503, 404, 422, 400]) kinds.push((await call(json(status, {}), { answers })).kind);
    expect(kinds).toEqual(['later', 'unknown', 'rejected', 'halted', 'rejected']);
  });

  test('an echoed secret is cut out of the evidence', async () => {
    const headers = { authorization: { env: 'TOKEN', prefix: 'Bearer ' } };
    const request = { url: `${downstream.url}/x`, headers };
    for (const status of [200, 401, 500]) {
      const error = errorIn(await call(raw(status, 'bad token s3cret-value!'), { request }));
      expect(error).toContain('bad token <secret>!');
      expect(error).not.toContain('s3cret-value');
    }
  });

  test('a 429 whose body never ends is still a 429', async () => {
    const endless: Answer = (response) => {
      response.writeHead(429, { 'retry-after': '3' });
      response.write('wait');
    };
    expect(await call(endless)).toMatchObject({ kind: 'later', retryAfterMs: 3_000 });
  });
});

describe('Retry-After (H5)', () => {
  const date = 'Sun, 06 Nov 1994 08:49:30 GMT';
  test.each([
    ['seconds', { 'retry-after': '7' }, 7_000],
    ['a date, from the answer’s own clock', { date, 'retry-after': 'Sun, 06 Nov 1994 08:49:37 GMT' }, 7_000],
    ['an RFC 850 date', { date, 'retry-after': 'Sunday, 06-Nov-94 08:49:37 GMT' }, 7_000],
    ['an asctime date', { date, 'retry-after': 'Sun Nov  6 08:49:37 1994' }, 7_000],
    ['a date that is past', { date, 'retry-after': 'Sun, 06 Nov 1994 08:49:00 GMT' }, 0],
    ['milliseconds', { 'retry-after-ms': '1250', 'retry-after': '2' }, 1_250],
    ['zero', { 'retry-after': '0' }, 0],
    ['more than a day', { 'retry-after': '999999999' }, 86_400_000],
    ['nothing', {}, undefined],
    ['nonsense', { 'retry-after': 'soon' }, undefined],
    ['a negative number', { 'retry-after': '-5' }, undefined],
    ['a date without a zone', { 'retry-after': '1994-11-06 08:49:37' }, undefined],
  ])('%s', async (_, headers, retryAfterMs) => {
    for (const status of [429, 503]) {
      const outcome = await call(json(status, {}, headers as Record<string, string>));
      expect(outcome).toMatchObject({ kind: 'later', scope: 'target' });
      expect(outcome.kind === 'later' && outcome.retryAfterMs).toBe(retryAfterMs);
    }
  });

  test('a future date without the answer’s own', async () => {
    const at = new Date(Date.now() + 60_000).toUTCString();
    const outcome = await call((response) => {
      response.sendDate = false;
      response.writeHead(429, { 'retry-after': at }).end();
    });
    const waits = outcome.kind === 'later' ? outcome.retryAfterMs! : NaN;
    expect(waits).toBeGreaterThan(50_000);
    expect(waits).toBeLessThanOrEqual(60_000);
  });

  test('the scope is a setting', async () => {
    expect(await call(json(429, {}), { scopes: { refused: 'handler' } })).toMatchObject({
      kind: 'later',
      scope: 'handler',
    });
  });
});

describe('calls without an answer (table of handlers.md)', () => {
  const callAt = (url: string, changes: Record<string, unknown> = {}, context = buildContext()) =>
    callHandler(httpHandler(httpConfig(url, changes)), batch, context, remember());

  test.each([
    ['target', {}],
    ['handler', { scopes: { refused: 'handler' } }],
    ['handler', { scopes: { unreachable: 'handler' } }],
  ])('refused before the request was written: same batch later, %s held with %j', async (scope, changes) => {
    const outcome = await callAt(`http://127.0.0.1:${await closedPort()}`, changes);
    expect(outcome).toMatchObject({ kind: 'later', scope });
    expect(errorIn(outcome)).toMatch(/^not sent to http:\/\/127\.0\.0\.1:\d+: .*ECONNREFUSED/);
  });

  test('a name that does not resolve: same batch later', async () => {
    const outcome = await callAt('http://nobody.invalid');
    expect(outcome.kind).toBe('later');
    expect(errorIn(outcome)).toMatch(/ENOTFOUND|EAI_AGAIN/);
  });

  test('reset after the request was written: all unknown', async () => {
    const outcome = await call((response) => response.socket?.destroy());
    expect(outcome.kind).toBe('unknown');
    expect(errorIn(outcome)).toMatch(/^no answer from http/);
    expect(downstream.seen).toHaveLength(1);
  });

  test('a connection closed at once, before anything was read: still unknown, for bytes were written', async () => {
    const outcome = await call((response, _, request) => void (request.socket.resetAndDestroy(), response));
    expect(outcome.kind).toBe('unknown');
  });

  test('timeout after the request was written: all unknown', async () => {
    const outcome = await call(() => undefined, { timeoutMs: 100 });
    expect(outcome.kind).toBe('unknown');
    expect(errorIn(outcome)).toContain('no end within 100 ms');
    expect(downstream.seen).toHaveLength(1);
  });

  test('timeout in the middle of the body: all unknown', async () => {
    const outcome = await call((response) => void response.writeHead(200).write('{"results": ['), { timeoutMs: 100 });
    expect(outcome.kind).toBe('unknown');
    expect(errorIn(outcome)).toContain('broke off after 13 bytes');
  });

  test('timeout while waiting for a connection of its own: nothing was sent, and nothing is sent afterwards', async () => {
    let release: () => void = () => undefined;
    downstream.answer = (response) => {
      release = () => json(200, items(200, 200, 200))(response, downstream.seen[0]!, response.req);
    };
    const handler = httpHandler(httpConfig(downstream.url, { concurrency: { perHandler: 1 } }));
    const first = callHandler(handler, batch, buildContext(), remember());
    const second = await callHandler(handler, batch, buildContext({ deadline: Date.now() + 100 }), remember());
    expect(second.kind).toBe('later');
    expect(errorIn(second)).toContain('not sent');
    release();
    expect((await first).kind).toBe('results');
    expect(await callHandler(handler, batch, buildContext({ deadline: Date.now() + 50 }), remember())).toMatchObject({
      kind: 'unknown',
    });
    // The second call, aborted in the queue, was never written to the connection that became free.
    expect(downstream.seen).toHaveLength(2);
  });

  test('connections are kept and used again', async () => {
    const ports = new Set<number | undefined>();
    const answer: Answer = (response, seen, request) => {
      ports.add(request.socket.remotePort);
      json(200, items(200, 200, 200))(response, seen, request);
    };
    downstream.answer = answer;
    const handler = httpHandler(httpConfig(downstream.url));
    for (let n = 0; n < 8; n++) await callHandler(handler, batch, buildContext(), remember());
    // Two, for undici takes a second one while the first is just being given back.
    expect(ports.size).toBeLessThanOrEqual(2);
  });
});
