import { once } from 'node:events';
import type { Socket } from 'node:net';
import { connect } from 'node:net';
import { eventually } from '../../helpers/eventually';
import type { ApiWorld } from '../world';
import { items, openWorld } from '../world';

/** What the server of the API does for all of its routes; no worker runs. */

const MOST_BYTES = 1_024;
let world: ApiWorld;
beforeAll(async () => {
  world = await openWorld({ limits: { maxBodyBytes: MOST_BYTES } });
});
afterAll(() => world.stop());

/** Begins a submit with a body of the largest size, of which nothing comes. */
const beginBody = (): Socket => {
  const { port } = new URL(world.api.url);
  const socket = connect({ port: Number(port), host: '127.0.0.1' });
  socket.on('error', () => undefined);
  socket.write(
    `POST /v1/handlers/items/tasks HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${MOST_BYTES}\r\n\r\n`,
  );
  return socket;
};

test('a caller whose bodies take all that it may have of the memory is still answered what has no body', async () => {
  // Half of the room for eight bodies is the part of one caller.
  const sockets = Array.from({ length: 4 }, beginBody);
  const submit = () => world.call('POST /v1/handlers/items/tasks', { body: { tasks: items('a', '1') } });
  try {
    let looks = 0;
    await eventually(async () => {
      const { status, text } = await world.call('GET /metrics');
      expect(status).toBe(200);
      looks = /^muster_api_open_requests\{kind="requests"\} [5-9]$/m.test(text) ? looks + 1 : 0;
      return looks === 2;
    });
    expect(await submit()).toMatchObject({ status: 429, body: { type: 'urn:muster:problem:caller-limit' } });
    expect((await world.call('GET /v1/nodes')).status).toBe(200);
  } finally {
    for (const socket of sockets) socket.destroy();
  }
  await eventually(async () => (await submit()).status === 200);
});

test('the bounds of the histogram of its requests rise: else no quantile of it is true', async () => {
  await world.call('GET /v1/tasks/none');
  const bounds = await eventually(async () => {
    const lines = (await world.call('GET /metrics')).text.match(/^muster_api_request_seconds_bucket.*"getTask".*$/gm);
    return lines?.map((line) => Number(/le="([^"]+)"/.exec(line)![1]!.replace('+Inf', 'Infinity')));
  });
  expect(bounds.length).toBeGreaterThan(5);
  expect(bounds).toEqual([...bounds].sort((a, b) => a - b));
});

test('the page of the document lets a call be tried at once, and keeps no token in the browser', async () => {
  const { text } = await world.call('GET /docs/static/swagger-initializer.js');
  expect(text).toContain('"tryItOutEnabled":true');
  expect(text).toContain('"persistAuthorization":false');
});

test('an address of more than 16 KiB gets 431 without a body, as the document says of each that has parts', async () => {
  const { port } = new URL(world.api.url);
  const socket = connect({ port: Number(port), host: '127.0.0.1' });
  let answer = '';
  socket.setEncoding('utf8').on('data', (text: string) => (answer += text));
  socket.write(`GET /v1/errors?handler=${'x'.repeat(17_000)} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`);
  await once(socket, 'end');
  socket.destroy();
  expect(answer).toMatch(/^HTTP\/1\.1 431 [^]*Content-Length: 0\r\n\r\n$/);
  const { paths } = JSON.parse((await world.call('GET /openapi.json')).text) as {
    paths: Record<string, { get: { responses: object } }>;
  };
  const told = ['/v1/errors', '/v1/tasks/{id}', '/health/live'].map((path) => '431' in paths[path]!.get.responses);
  expect(told).toEqual([true, true, false]);
});
