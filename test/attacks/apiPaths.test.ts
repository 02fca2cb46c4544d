import { connect } from 'node:net';
import pino from 'pino';
import { NO_QUOTAS, upsertTenant } from '../../postgres/api/tenant';
import { insertToken, SCOPES } from '../../postgres/api/token';
import { hashToken, newToken } from '../../workers/api/tokens';
import { listenForCallbacks } from '../../workers/callbacks/server';
import { items, openWorld } from '../api/world';
import type { ApiWorld } from '../api/world';
import { rounds } from '../helpers/long';
import { expectWhole } from '../helpers/whole';
import { crookedTargets } from './apiPaths';
import { snapshot } from './snapshot';
import { Tally } from './tally';

/**
 * Paths in every spelling, as bytes on a connection: no client tidies them. A caller who may not
 * reaches nothing by another spelling of it, and none makes a 500.
 */

const paths = new Tally('HTTP API: spellings of a path');
const callbacks = new Tally('callbacks of downstreams: spellings of a path');

const SECRET = 'quicksilver';
let world: ApiWorld;
let admin: string;
let callers: Record<'no token' | 'another tenant' | 'another scope', string>;
beforeAll(async () => {
  world = await openWorld({ open: false });
  await world.client.submit('items', items(SECRET, 'planted'));
  await world.client.openFanout({ userKey: SECRET });
  await upsertTenant(world.database.pool, 'acme', NO_QUOTAS);
  const token = newToken();
  await insertToken(world.database.pool, { name: 'a', hash: hashToken(token), scopes: SCOPES, tenant: 'acme' });
  admin = await world.token('admin');
  const metrics = await world.token('metrics');
  callers = {
    'no token': '',
    'another tenant': `Authorization: Bearer ${token}\r\n`,
    'another scope': `Authorization: Bearer ${metrics}\r\n`,
  };
});
afterAll(() => world.stop());

interface Answer {
  /** 0: the connection was closed without one. */
  status: number;
  text: string;
}

/** Sends a request whose target is written as it stands. */
const send = (port: number, method: string, target: string, headers: string): Promise<Answer> =>
  new Promise((resolve) => {
    const body = method === 'GET' ? '' : '{}';
    const sized = `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n`;
    const socket = connect(port, '127.0.0.1');
    let text = '';
    socket.setTimeout(10_000, () => socket.destroy());
    socket.setEncoding('utf8').on('data', (piece: string) => (text += piece));
    socket.on('error', () => undefined);
    socket.on('close', () => resolve({ status: Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1] ?? 0), text }));
    socket.write(
      `${method} ${target} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n${headers}${sized}Connection: close\r\n\r\n${body}`,
    );
  });

/** Returns some of them in `npm test`: others for each seed, the same for the same. */
const sampled = (targets: readonly string[], seed: number): string[] => {
  const every = rounds(6, 1);
  return targets.filter((_, n) => (n + seed) % every === 0);
};

/** What none of the callers may. */
const PATHS = [
  'GET /v1/tasks/planted',
  'GET /v1/handlers/items/targets',
  'GET /v1/audit',
  'POST /v1/handlers/items/pause',
  'POST /v1/queuers/pause',
  'POST /v1/fanouts:reap',
  'DELETE /v1/handlers/items/targets/quicksilver',
];

test('no spelling of a path leads a caller to what it may not, and none is a 500', async () => {
  const { port, host } = new URL(world.api.url);
  const before = await snapshot(world.database);
  for (const [caller, headers] of Object.entries(callers))
    for (const [n, route] of PATHS.entries()) {
      const [method, path] = route.split(' ') as [string, string];
      for (const target of sampled(crookedTargets(path, host), n)) {
        const { status, text } = await send(Number(port), method, target, headers);
        const fault =
          status >= 500 ? `status ${status}` : text.includes(SECRET) && !target.includes(SECRET) ? text : null;
        paths.add(`${caller}: ${method} ${JSON.stringify(target.slice(0, 200))}`, fault);
      }
    }
  expect(await snapshot(world.database)).toBe(before);
  expect(world.logged.filter((line) => line.includes('"level":50'))).toEqual([]);
  await expectWhole(world.client);
  paths.expectNoneThrough(rounds(900, 6_000));
}, 600_000);

test('the right path of each is there: a caller who may is let in', async () => {
  const { port } = new URL(world.api.url);
  const all = `Authorization: Bearer ${admin}\r\n`;
  const read = await send(Number(port), 'GET', '/v1/tasks/planted', all);
  expect([read.status, read.text.includes(SECRET)]).toEqual([200, true]);
  for (const route of PATHS) {
    const [method, path] = route.split(' ') as [string, string];
    expect([route, (await send(Number(port), method, path, all)).status]).toEqual([route, 200]);
  }
});

test('no spelling of the path of a callback is taken, and none is a 500', async () => {
  const log = pino({ level: 'silent' });
  const server = await listenForCallbacks({
    port: 0,
    host: '127.0.0.1',
    secrets: ['s'.repeat(32)],
    maxBytes: 1_000,
    log,
  });
  const { port, host } = new URL(server.url);
  for (const target of crookedTargets('/callbacks/1.1700000000000000.1900000000/aaaa', host)) {
    const { status } = await send(Number(port), 'POST', target, '');
    callbacks.add(JSON.stringify(target.slice(0, 200)), status >= 400 && status !== 500 ? null : `status ${status}`);
  }
  await server.stop(1_000);
  callbacks.expectNoneThrough(300);
});
