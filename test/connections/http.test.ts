import { createServer } from 'node:http';
import type { Server } from 'node:http';
import { Socket } from 'node:net';
import type { AddressInfo } from 'node:net';
import { Transport } from '../../handlers/http/transport';
import { sendWebhook } from '../../activities/callbacks/webhook';
import type { Proxy } from '../helpers/proxy';
import { startProxy } from '../helpers/proxy';

/**
 * Calls and callbacks through a way that fails: each ends in its own time, and the next one works.
 */

const TIMEOUT_MS = 500;
const BOUND_MS = 5_000;

let downstream: Server;
let proxy: Proxy;
beforeAll(async () => {
  downstream = createServer((_, response) => response.end('{}')).listen(0, '127.0.0.1');
  await new Promise((resolve) => downstream.once('listening', resolve));
  proxy = await startProxy('127.0.0.1', (downstream.address() as AddressInfo).port);
});
afterEach(() => proxy.resume());
afterAll(async () => {
  await proxy.stop();
  downstream.closeAllConnections();
  await new Promise((resolve) => downstream.close(resolve));
});

const timed = async <T>(work: () => Promise<T>): Promise<T> => {
  const begun = performance.now();
  try {
    return await work();
  } finally {
    expect(performance.now() - begun).toBeLessThan(BOUND_MS);
  }
};

test('a call into a half-open connection ends with its timeout, its outcome unknown; the next one has another connection', async () => {
  const transport = new Transport({ connections: 1, connectMs: 1_000, keepAliveMs: 60_000, unreachable: 'handler' });
  const call = (): Promise<number> =>
    timed(async () => {
      const { statusCode, body } = await transport.send({
        method: 'POST',
        url: `http://127.0.0.1:${proxy.port}/`,
        headers: {},
        body: '{}',
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
      await body.dump();
      return statusCode;
    });
  expect(await call()).toBe(200);
  expect(proxy.opened()).toBe(1);
  proxy.cut();
  await expect(call()).rejects.toThrow(/^no answer from/);
  expect(await call()).toBe(200);
  proxy.stall();
  await expect(call()).rejects.toThrow(/^no answer from|^not sent to/);
  proxy.resume();
  expect(await call()).toBe(200);
});

test('a connection that is silent is asked for signs of life after 10 s', async () => {
  const alive = jest.spyOn(Socket.prototype, 'setKeepAlive');
  const transport = new Transport({ connections: 1, connectMs: 1_000, keepAliveMs: 60_000, unreachable: 'handler' });
  const { body } = await transport.send({
    method: 'POST',
    url: `http://127.0.0.1:${(downstream.address() as AddressInfo).port}/`,
    headers: {},
    body: '{}',
    signal: AbortSignal.timeout(BOUND_MS),
  });
  await body.dump();
  expect(alive.mock.calls).toContainEqual([true, 10_000]);
  alive.mockRestore();
});

test('a callback that is not answered is tried again later, and the next one is delivered', async () => {
  const policy = {
    allow: ['127.0.0.1:*'],
    secret: `whsec_${Buffer.from('a secret of some length').toString('base64')}`,
  };
  const send = () =>
    timed(() =>
      sendWebhook(
        policy,
        { id: 'msg_1', url: `http://127.0.0.1:${proxy.port}/`, body: '{}' },
        { signal: new AbortController().signal, timeoutMs: TIMEOUT_MS },
      ),
    );
  proxy.stall();
  expect(await send()).toMatchObject({ kind: 'retry', unreachable: true });
  proxy.resume();
  expect(await send()).toEqual({ kind: 'delivered' });
});
