import { connect } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ApiWorld } from '../api/world';
import { PRESENT_MS } from '../../workers/api/callers/costs';
import { items, openWorld } from '../api/world';
import { headOf, Wire } from '../bench/tenants/wire';
import { eventually } from '../helpers/eventually';
import { Tally } from './tally';

/**
 * The time of the API's thread, and its places: what floods of some tokens leave to another.
 *
 * @slow
 */

const tally = new Tally('HTTP API: the time of others');
const SUBMIT = 'POST /v1/handlers/items/tasks';
const BODY = 65_536;

let world: ApiWorld;
let port: number;
let watcher: string;
beforeAll(async () => {
  world = await openWorld({ open: false, limits: { maxBodyBytes: BODY } });
  port = Number(new URL(world.api.url).port);
  watcher = await caller();
});
afterAll(() => world.stop());

const caller = (): Promise<string> => world.token('submit', 'read', 'metrics');

const metrics = async (): Promise<string> => (await world.call('GET /metrics', { token: watcher })).text;

const openOf = async (kind: 'held' | 'requests'): Promise<number> =>
  Number(new RegExp(`muster_api_open_requests{kind="${kind}"} (\\d+)`).exec(await metrics())![1]);

let no = 0;
const submit = (wire: Wire, token: string): Promise<{ status: number }> =>
  wire.send(SUBMIT, token, JSON.stringify({ tasks: items('se', `id-${no++}`) }));

/** Sends the same again and again over its own connection until it is over. */
const flood = async (send: (wire: Wire) => Promise<{ status: number }>, isOver: () => boolean, seen: () => void) => {
  const wire = new Wire(port);
  while (!isOver()) {
    const { status } = await send(wire);
    if (status !== 0 && !isOver()) seen();
    await nextTurn();
  }
  wire.close();
};

/**
 * What floods without end are answered, for each submit of an honest token over four connections.
 */
const beside = async (send: (wire: Wire) => Promise<{ status: number }>): Promise<number> => {
  const token = await caller();
  let over = false;
  let hostile = 0;
  let honest = 0;
  const floods = Array.from({ length: 16 }, () =>
    flood(
      send,
      () => over,
      () => hostile++,
    ),
  );
  const honestly = async (times: number): Promise<void> => {
    const wires = Array.from({ length: 4 }, () => new Wire(port));
    await Promise.all(
      wires.map(async (wire) => {
        for (let n = 0; n < times / 4; n++) if ((await submit(wire, token)).status === 200) honest++;
        wire.close();
      }),
    );
  };
  await honestly(200); // what may be taken at once is taken
  [hostile, honest] = [0, 0];
  await honestly(200);
  expect((await world.call('GET /health/live')).status).toBe(200);
  await eventually(async () => (await openOf('held')) > 0);
  over = true;
  await Promise.all(floods);
  expect(honest).toBe(200);
  return hostile / honest;
};

const KINDS: Readonly<Record<string, (token: string) => (wire: Wire) => Promise<{ status: number }>>> = {
  'crooked values': (token) => (wire) => wire.send(SUBMIT, token, '{"tasks":[{"id":null}]}'),
  'large bodies that are refused': (token) => {
    const body = `{"tasks":[${'[],'.repeat(10_000)}[]]}`;
    return (wire) => wire.send(SUBMIT, token, body);
  },
  'no valid token': () => (wire) => wire.send(SUBMIT, 'muster_none', '{}'),
};

/** Refusals that are answered per answer of another token; without shares it is 5 and more. */
const MOST_ANSWERS = 1;

test.each(Object.keys(KINDS))('a flood of %s waits while another token is served', async (kind) => {
  let ratio = Infinity;
  // While the machine stands still, no other token calls, and who is held is let in.
  for (let n = 0; n < 3 && ratio >= MOST_ANSWERS; n++) ratio = await beside(KINDS[kind]!(await caller()));
  tally.add(kind, ratio < MOST_ANSWERS ? null : `${ratio.toFixed(1)} answers for each of another token`);
  tally.expectNoneThrough(1);
});

test('the request of a token that took little begins before earlier ones of one that took much', async () => {
  const [greedy, modest] = [await caller(), await caller()];
  const wires = Array.from({ length: 100 }, () => new Wire(port));
  const read = (wire: Wire, token: string): Promise<unknown> => wire.send('GET /v1/tasks?limit=1', token, '');
  const other = new Wire(port);
  const order: string[] = [];
  for (let round = 0; round < 3; round++) {
    order.length = 0;
    const first = wires.map((wire) => read(wire, greedy).then(() => order.push('greedy')));
    const last = read(other, modest).then(() => order.push('modest'));
    await Promise.all([...first, last]);
  }
  for (const wire of [...wires, other]) wire.close();
  const before = order.indexOf('modest');
  tally.add('many requests at once', before < 60 ? null : `${before} of 100 were answered first`);
  tally.expectNoneThrough(1);
});

test('a token beside a stream of another waits for its turn, with as many requests as its limit allows', async () => {
  const limits = { perCaller: { maxRequests: 4 } };
  const held = await openWorld({ open: false, limits });
  const [greedy, watching] = [await held.token('read', 'metrics'), await held.token('read')];
  const refused = async (): Promise<number> => {
    const { text } = await held.call('GET /metrics', { token: greedy });
    return Number(/muster_api_refused\{kind="held"\} (\d+)/.exec(text)![1]);
  };
  const wires = Array.from({ length: 60 }, () => new Wire(Number(new URL(held.api.url).port)));
  const burst = (): Promise<unknown> =>
    Promise.all(wires.map((wire) => wire.send('GET /v1/tasks?limit=1', greedy, '')));
  const { id } = await held.client.openFanout();
  const watch = new AbortController();
  const headers = { authorization: `Bearer ${watching}` };
  const stream = await fetch(`${held.api.url}/v1/fanouts/${id}/events`, { headers, signal: watch.signal });
  expect(stream.status).toBe(200);
  // From then on only the stream says that the other token is there.
  const isPresent = performance.now() + PRESENT_MS;
  await eventually(async () => performance.now() > isPresent);
  const before = await refused();
  await eventually(async () => (await burst(), (await refused()) > before), { timeoutMs: 20_000 });
  watch.abort();
  for (const wire of wires) wire.close();
  await held.stop();
});

const inProgress = async (): Promise<number> => (await openOf('requests')) - 1; /* the one that asks */

test('tokens with many unfinished large bodies leave a place for one of another token', async () => {
  const hostile = [await caller(), await caller(), await caller()];
  const modest = await caller();
  let refused = 0;
  const sockets = hostile.flatMap((token) =>
    Array.from({ length: 8 }, () => {
      const socket = connect({ port, host: '127.0.0.1' }).on('error', () => undefined);
      socket.once('data', () => refused++);
      socket.write(`${headOf(SUBMIT, token, BODY)}{`);
      return socket;
    }),
  );
  const isSettled = async (): Promise<boolean> => (await inProgress()) + refused === sockets.length;
  await eventually(isSettled, { timeoutMs: 20_000, what: () => `24 answered or open; ${refused} were refused` });
  const raw = JSON.stringify({ tasks: items('se', 'large') }).padEnd(BODY, ' ');
  const { status } = await world.call(SUBMIT, { token: modest, raw });
  for (const socket of sockets) socket.destroy();
  tally.add('unfinished large bodies', status === 200 ? null : `status ${status}`);
  tally.expectNoneThrough(1);
});
