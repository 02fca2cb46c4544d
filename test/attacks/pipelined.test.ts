import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { connect } from 'node:net';
import { openWorld } from '../api/world';
import type { ApiWorld } from '../api/world';
import { headOf } from '../bench/tenants/wire';
import { eventually } from '../helpers/eventually';
import { createDoor, whenClosed } from '../../workers/doors/sockets';
import { Tally } from './tally';

/** Requests that are sent behind one another without waiting for an answer. */

const tally = new Tally('HTTP API: places of requests behind another one');

let world: ApiWorld;
let token: string;
beforeAll(async () => {
  world = await openWorld({ open: false });
  token = await world.token('submit', 'read', 'metrics');
});
afterAll(() => world.stop());

/** Requests in progress, but for the one that asks. */
const inProgress = async (): Promise<number> => {
  const { text } = await world.call('GET /metrics', { token });
  return Number(/muster_api_open_requests{kind="requests"} (\d+)/.exec(text)![1]) - 1;
};

test('they give their places back when their connection is closed', async () => {
  const { id } = (await world.call('POST /v1/fanouts', { token, body: {} })).body as { id: string };
  const port = Number(new URL(world.api.url).port);
  const socket = connect({ port, host: '127.0.0.1' }).on('error', () => undefined);
  socket.write(headOf(`GET /v1/fanouts/${id}?wait=60`, token, 0) + headOf('GET /v1/tasks/none', token, 0).repeat(5));
  await eventually(async () => (await inProgress()) === 5, { timeoutMs: 20_000 });
  socket.destroy();
  await eventually(async () => (await inProgress()) === 0, { timeoutMs: 20_000 });
  tally.add('requests behind one that waits', null);
  tally.expectNoneThrough(1);
});

test('whose caller is gone before its answer begins, is told at once, and nothing of it is kept', async () => {
  const asked: [IncomingMessage, ServerResponse][] = [];
  const door = createDoor((...one) => void asked.push(one), 10).listen(0, '127.0.0.1');
  await once(door, 'listening');
  const socket = connect({ port: (door.address() as AddressInfo).port, host: '127.0.0.1' });
  socket.on('error', () => undefined).write(headOf('GET /', token, 0).repeat(2));
  await eventually(async () => asked.length === 2, { timeoutMs: 20_000 });
  const [request, response] = asked[1]!;
  let told = 0;
  whenClosed(request, response, () => told++);
  socket.destroy();
  await eventually(async () => told === 1, { timeoutMs: 20_000 });
  whenClosed(request, response, () => told++);
  response.write('kept for whom?');
  const fault = told === 2 && response.writableLength === 0 ? null : `told ${told} times, kept bytes`;
  tally.add('answers that begin behind a request', fault);
  tally.expectNoneThrough(1);
  door.close();
});
