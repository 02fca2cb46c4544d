import { callHandler, httpHandler } from '../../../handlers';
import { buildContext, errorIn, remember } from '../build';
import type { Answer } from '../downstream';
import { freePort } from '../../helpers/machine/freePort';
import { json } from '../downstream';
import { batch, httpCaller, items } from './httpCaller';
import { httpConfig } from './httpConfig';

const http = httpCaller();

describe('calls without an answer (table of handlers.md)', () => {
  const callAt = (url: string, changes: Record<string, unknown> = {}, context = buildContext()) =>
    callHandler(httpHandler(httpConfig(url, changes)), batch, context, remember());

  test.each([
    ['target', {}],
    ['handler', { scopes: { refused: 'handler' } }],
    ['handler', { scopes: { unreachable: 'handler' } }],
  ])('refused before the request was written: same batch later, %s held with %j', async (scope, changes) => {
    const outcome = await callAt(`http://127.0.0.1:${await freePort()}`, changes);
    expect(outcome).toMatchObject({ kind: 'later', scope });
    expect(errorIn(outcome)).toMatch(/^not sent to http:\/\/127\.0\.0\.1:\d+: .*ECONNREFUSED/);
  });

  test('a name that does not resolve: same batch later', async () => {
    const outcome = await callAt('http://nobody.invalid');
    expect(outcome.kind).toBe('later');
    expect(errorIn(outcome)).toMatch(/ENOTFOUND|EAI_AGAIN/);
  });

  test('reset after the request was written: all unknown', async () => {
    const outcome = await http.call((response) => response.socket?.destroy());
    expect(outcome.kind).toBe('unknown');
    expect(errorIn(outcome)).toMatch(/^no answer from http/);
    expect(http.downstream.seen).toHaveLength(1);
  });

  test('a connection closed at once, before anything was read: still unknown, for bytes were written', async () => {
    const outcome = await http.call((response, _, request) => void (request.socket.resetAndDestroy(), response));
    expect(outcome.kind).toBe('unknown');
  });

  test('timeout after the request was written: all unknown', async () => {
    const outcome = await http.call(() => undefined, { timeoutMs: 1_000 });
    expect(outcome.kind).toBe('unknown');
    expect(errorIn(outcome)).toContain('no end within 1,000 ms');
    expect(http.downstream.seen).toHaveLength(1);
  });

  test('timeout in the middle of the body: all unknown', async () => {
    const outcome = await http.call((response) => void response.writeHead(200).write('{"results": ['), {
      timeoutMs: 1_000,
    });
    expect(outcome.kind).toBe('unknown');
    expect(errorIn(outcome)).toContain('broke off after 13 bytes');
  });

  test('timeout while waiting for a connection of its own: nothing was sent, and nothing is sent afterwards', async () => {
    let arrived: (release: () => void) => void;
    const held = new Promise<() => void>((resolve) => {
      arrived = resolve;
    });
    http.downstream.answer = (response, seen, request) =>
      arrived(() => json(200, items(200, 200, 200))(response, seen, request));
    const handler = httpHandler(httpConfig(http.downstream.url, { concurrency: { perHandler: 1 } }));
    const first = callHandler(handler, batch, buildContext(), remember());
    const release = await held;
    const second = await callHandler(handler, batch, buildContext({ deadline: Date.now() + 100 }), remember());
    expect(second.kind).toBe('later');
    expect(errorIn(second)).toContain('not sent');
    release();
    expect((await first).kind).toBe('results');
    expect(await callHandler(handler, batch, buildContext({ deadline: Date.now() + 1_000 }), remember())).toMatchObject(
      {
        kind: 'unknown',
      },
    );
    // The second call, aborted in the queue, was never written to the connection that became free.
    expect(http.downstream.seen).toHaveLength(2);
  });

  test('connections are kept and used again', async () => {
    const ports = new Set<number | undefined>();
    const answer: Answer = (response, seen, request) => {
      ports.add(request.socket.remotePort);
      json(200, items(200, 200, 200))(response, seen, request);
    };
    http.downstream.answer = answer;
    const handler = httpHandler(httpConfig(http.downstream.url));
    for (let n = 0; n < 8; n++) await callHandler(handler, batch, buildContext(), remember());
    // Two, for undici takes a second one while the first is just being given back.
    expect(ports.size).toBeLessThanOrEqual(2);
  });
});
