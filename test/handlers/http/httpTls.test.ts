import type { Server, Socket, AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { callHandler, httpHandler } from '../../../handlers';
import { batchOf, buildContext, errorIn, remember } from '../build';
import { httpConfig } from './httpConfig';

/**
 * What happens before a request can be written, told from what happens after: by whether it was
 * written, not by error codes.
 */
let server: Server;
let onConnection: (socket: Socket) => void;
const sockets = new Set<Socket>();
beforeAll(async () => {
  server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    onConnection(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  await new Promise((resolve) => server.close(resolve));
});

const call = (scheme: 'http' | 'https', changes: Record<string, unknown> = {}) => {
  const { port } = server.address() as AddressInfo;
  return callHandler(
    httpHandler(httpConfig(`${scheme}://127.0.0.1:${port}`, changes)),
    batchOf(1),
    buildContext(),
    remember(),
  );
};

test('a TLS handshake that is reset: later, though the code is the one of a lost answer', async () => {
  onConnection = (socket) => void socket.once('data', () => socket.resetAndDestroy());
  const outcome = await call('https');
  expect(outcome).toMatchObject({ kind: 'later' });
  expect(errorIn(outcome)).toContain('ECONNRESET');
});

test('the same reset over plain http, where the request was written: unknown', async () => {
  onConnection = (socket) => void socket.once('data', () => socket.resetAndDestroy());
  const outcome = await call('http');
  expect(outcome).toMatchObject({ kind: 'unknown' });
  expect(errorIn(outcome)).toContain('ECONNRESET');
});

test.each([
  ['connectMs', { timeouts: { connectMs: 1_000 } }],
  ['timeoutMs', { timeoutMs: 1_000 }],
])('a TLS handshake that never ends: later, after %s', async (_, changes) => {
  let bytes = 0;
  onConnection = (socket) => void socket.on('data', (chunk) => (bytes += chunk.length));
  const outcome = await call('https', changes);
  expect(outcome).toMatchObject({ kind: 'later' });
  expect(bytes).toBeGreaterThan(0);
});

test('a server that does not speak TLS: halted, waiting does not help', async () => {
  onConnection = (socket) => void socket.once('data', () => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
  const outcome = await call('https');
  expect(outcome.kind).toBe('halted');
});

test.each([
  ['not HTTP', 'SSH-2.0-OpenSSH\r\n'],
  ['a status line and nothing more', 'HTTP/1.1 200 OK\r\n'],
])('an answer that is %s: unknown', async (_, text) => {
  onConnection = (socket) => void socket.once('data', () => socket.end(text));
  expect((await call('http')).kind).toBe('unknown');
});

test('an HTTP/1.0 answer, delimited by the end of the connection, is read', async () => {
  onConnection = (socket) =>
    void socket.once('data', () => socket.end('HTTP/1.0 200 OK\r\n\r\n{"results":[{"id":"t0","status":200}]}'));
  expect(await call('http')).toEqual({ kind: 'results', deviants: [] });
});
