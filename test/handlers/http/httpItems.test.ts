import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { callHandler, httpHandler } from '../../../handlers';
import { Gathered } from '../../../handlers/http/body';
import { batchOf, buildContext, errorIn, remember } from '../build';
import type { Answer } from '../downstream';
import { json, raw } from '../downstream';
import { httpCaller } from './httpCaller';
import { httpConfig } from './httpConfig';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;
const heapBytes = (): number => {
  collect();
  return process.memoryUsage().heapUsed;
};

const http = httpCaller();

describe('statuses of items', () => {
  const deviants = async (response: object, ...results: unknown[]) => {
    const outcome = await http.call(
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
    const outcome = await http.call(
      json(200, [{ id: 't0', error: null }, { id: 't1', error: { code: -32_000 } }, { id: 't2' }]),
      { response: { matchBy: 'id', error: 'error' } },
    );
    expect(outcome).toEqual({ kind: 'results', deviants: [{ index: 1, status: 'failed', error: '{"code":-32000}' }] });
  });

  test('numeric ids are text', async () => {
    http.downstream.answer = json(200, [{ id: 7, status: 200 }]);
    const handler = httpHandler(
      httpConfig(http.downstream.url, { response: { matchBy: 'id', status: { path: 'status' } } }),
    );
    const seven = { ...batchOf(1), tasks: [{ id: '7', payload: { n: 1 }, attempts: 0 }] };
    expect(await callHandler(handler, seven, buildContext(), remember())).toEqual({ kind: 'results', deviants: [] });
  });

  test.each([2, 4])('by position %i results for 3 tasks leave all of them in doubt', async (count) => {
    const response = { matchBy: 'position', status: { path: 's' } };
    const outcome = await http.call(
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
    const outcome = await http.call(
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
    const outcome = await http.call(raw(200, body), { response, maxResponseBytes: 1_000 });
    expect(outcome.kind).toBe('unknown');
    expect(errorIn(outcome)).toContain(evidence);
  });

  test('a line of more values than fit into memory is not parsed: all unknown', async () => {
    const outcome = await http.call(raw(200, `${lines}\n[${'[],'.repeat(1_000_000)}0]`), { response });
    expect(outcome.kind).toBe('unknown');
    expect(errorIn(outcome)).toContain('after 3 results: expected at most 1,000,000 JSON values and names, got more');
  });

  test('broken off, or too few by position: all unknown', async () => {
    const cut: Answer = (answer) => {
      answer.writeHead(200);
      answer.write('{"id":"t0","s":200}\n{"id', () => answer.socket?.destroy());
    };
    expect((await http.call(cut, { response })).kind).toBe('unknown');
    expect((await http.call(raw(200, '{"s":200}\n'), { response: { ...response, matchBy: 'position' } })).kind).toBe(
      'unknown',
    );
  });
});

test('what comes in pieces of a byte takes no more memory than what comes at once', () => {
  const all = Buffer.alloc(300_000, 'x');
  const gathered = new Gathered();
  const before = heapBytes();
  for (let at = 0; at < all.length; at++) gathered.add(all.subarray(at, at + 1));
  expect(heapBytes() - before).toBeLessThan(5_000_000);
  expect(gathered.bytes.equals(all)).toBe(true);
});
