import { connect } from 'node:net';
import { openWorld } from '../api/world';
import type { ApiWorld } from '../api/world';
import { headOf } from '../bench/tenants/wire';
import { eventually } from '../helpers/eventually';
import { Tally } from './tally';

/** Requests that are sent behind one another without waiting for an answer. */

const tally = new Tally('HTTP API: places of requests behind another one');

let world: ApiWorld;
let token: string;
beforeAll(async () => {
  world = await openWorld({ open: false });
  token = await world.token('submit', 'read', 'metrics');
  await eventually(async () => (await world.call('GET /v1/tasks/none', { token })).status !== 401);
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
