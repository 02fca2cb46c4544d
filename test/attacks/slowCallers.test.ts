import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import pino from 'pino';
import type { ApiWorld } from '../api/world';
import { openWorld } from '../api/world';
import { defineHandler } from '../../handlers';
import { eventually } from '../helpers/eventually';
import { rounds } from '../helpers/long';
import type { CallbackServer } from '../../workers/callbacks/server';
import { listenForCallbacks } from '../../workers/callbacks/server';
import { HEADERS_MS, REQUEST_MS, UNREAD_MS } from '../../workers/doors/sockets';
import type { MetricsServer } from '../../workers/metrics/server';
import { startMetrics } from '../../workers/metrics/server';
import { Tally } from './tally';

/**
 * Callers that send or read too slowly, and never close: every server lets them go by itself.
 *
 * @slow
 */

const tally = new Tally('HTTP servers: slow callers');
/** Of each kind, at each server. */
const CALLERS = rounds(12, 100);
/** On a busy machine a check comes later. */
const MARGIN_MS = 8_000;

let world: ApiWorld;
let callbacks: CallbackServer;
let metrics: MetricsServer;
beforeAll(async () => {
  world = await openWorld({ handlers: [large] });
  // More than the system keeps for a reader; three of them have no more than one caller may have.
  await world.client.submit('large', { id: 'large', payload: 'x'.repeat(10_000_000) });
  const log = pino({ level: 'silent' });
  callbacks = await listenForCallbacks({
    port: 0,
    host: '127.0.0.1',
    secrets: [randomBytes(32).toString('hex')],
    maxBytes: 1_000_000,
    log,
  });
  metrics = await startMetrics({ pool: world.database.pool, port: 0, log });
});
afterAll(async () => {
  await callbacks.stop(0);
  await metrics.stop();
  await world.stop();
});

const large = defineHandler({
  name: 'large',
  target: () => 'all',
  limits: { maxItems: 1, maxBytes: 67_108_864 },
  linger: { lingerMs: 3_600_000 },
  maxPayloadBytes: 67_108_864,
  submit: async () => ({ results: [] }),
});

/** A connection as it looks from its caller. */
interface Caller {
  socket: Socket;
  kind: string;
  /** The server's port. */
  port: number;
  /** Longest that it may be kept. */
  mostMs: number;
  since: number;
}

const open = async (port: number): Promise<Socket> => {
  // Answers the end of the other side by none of its own.
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  socket.on('error', () => undefined);
  await new Promise((resolve) => socket.once('connect', resolve));
  return socket;
};

/** Only the API has such answers. */
const LARGE = 'reads nothing of a large answer';
const HEAD = 'Host: 127.0.0.1\r\nContent-Type: application/json\r\n';
const KINDS: Readonly<Record<string, { mostMs: number; attack: (socket: Socket, path: string) => Promise<void> }>> = {
  'sends nothing': { mostMs: HEADERS_MS, attack: async () => undefined },
  'sends half of its headers': {
    mostMs: HEADERS_MS,
    attack: async (socket, path) => void socket.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nX-A: `),
  },
  'sends a byte of its headers per second': {
    mostMs: HEADERS_MS,
    attack: async (socket, path) => {
      socket.write(`GET ${path} HTTP/1.1\r\nX-A: `);
      drip(socket);
    },
  },
  'sends half of its body': {
    mostMs: REQUEST_MS,
    attack: async (socket) => void socket.write(`POST /v1/items:ack HTTP/1.1\r\n${HEAD}Content-Length: 100\r\n\r\n{`),
  },
  'sends a byte of its body per second': {
    mostMs: REQUEST_MS,
    attack: async (socket) => {
      socket.write(`POST /v1/items:ack HTTP/1.1\r\n${HEAD}Content-Length: 1000\r\n\r\n{`);
      drip(socket);
    },
  },
  'sends a chunk of its body per second': {
    mostMs: REQUEST_MS,
    attack: async (socket) => {
      socket.write(`POST /v1/items:ack HTTP/1.1\r\n${HEAD}Transfer-Encoding: chunked\r\n\r\n`);
      drip(socket, '1\r\n \r\n');
    },
  },
  'sends what is not HTTP': { mostMs: HEADERS_MS, attack: async (socket) => void socket.write('hello\r\n\r\n') },
  [LARGE]: {
    mostMs: UNREAD_MS,
    attack: async (socket) => {
      socket.pause();
      socket.write('GET /v1/tasks/large HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n');
      // No more than its beginning: a refusal would leave nothing to read.
      await once(socket, 'readable');
      expect(String(socket.read(12))).toBe('HTTP/1.1 200');
    },
  },
  'reads none of many answers': {
    mostMs: UNREAD_MS,
    attack: async (socket, path) => {
      socket.pause();
      const request = `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`.repeat(2_000);
      // Until the server takes no more, because its answers wait for their reader.
      for (let n = 0; n < 60; n++) if (!socket.write(request)) return;
    },
  },
};

const drip = (socket: Socket, what = ' '): void => {
  const timer = setInterval(() => socket.write(what), 1_000);
  socket.once('close', () => clearInterval(timer));
};

/** Connections that a process of this machine holds at this port, by the port of their caller. */
const heldAt = (port: number): Set<number> => {
  const held = new Set<number>();
  for (const line of readFileSync('/proc/net/tcp', 'utf8').trim().split('\n').slice(1)) {
    const [, local, remote, , , , , , , inode] = line.trim().split(/\s+/);
    // Without an inode, no process has it any more: the system alone takes leave.
    if (Number.parseInt(local!.split(':')[1]!, 16) === port && inode !== '0')
      held.add(Number.parseInt(remote!.split(':')[1]!, 16));
  }
  return held;
};

test('whoever sends or reads too slowly is let go, at the API, for callbacks and for metrics', async () => {
  const doors = { api: world.api.url, callbacks: callbacks.url, metrics: metrics.url };
  const paths: Record<string, string> = { api: '/openapi.json', callbacks: '/callbacks', metrics: '/metrics' };
  const callers: Caller[] = [];
  // Who reads nothing comes first: of so many others the API refuses the last.
  const kinds = Object.entries(KINDS).sort(
    ([, a], [, b]) => Number(b.mostMs === UNREAD_MS) - Number(a.mostMs === UNREAD_MS),
  );
  for (const [door, url] of Object.entries(doors))
    for (const [kind, { mostMs, attack }] of kinds.filter(([kind]) => door === 'api' || kind !== LARGE))
      for (let n = 0; n < (mostMs === UNREAD_MS ? 3 : CALLERS); n++) {
        const port = Number(new URL(url).port);
        const socket = await open(port);
        await attack(socket, paths[door]!);
        callers.push({ socket, kind: `${door}: ${kind}`, port, mostMs, since: performance.now() });
      }
  const left = new Set(callers);
  await eventually(
    () => {
      const held = new Map(
        Object.values(doors).map((url) => [Number(new URL(url).port), heldAt(Number(new URL(url).port))]),
      );
      for (const caller of left) {
        const keptMs = performance.now() - caller.since;
        const isHeld = held.get(caller.port)!.has(caller.socket.localPort!);
        if (isHeld && keptMs <= caller.mostMs + MARGIN_MS) continue;
        tally.add(caller.kind, isHeld ? `still connected after ${Math.round(keptMs / 1_000)} s` : null);
        caller.socket.destroy();
        left.delete(caller);
      }
      return left.size === 0;
    },
    { everyMs: 250 },
  );
  tally.expectNoneThrough(Object.keys(KINDS).length * 3 * 3);
});

test('who reads many large answers by the byte has half of the room for them; another is answered', async () => {
  const own = await openWorld({ handlers: [large], open: false });
  await own.client.submit('large', { id: 'medium', payload: 'x'.repeat(7_900_000) });
  const [greedy, modest] = [await own.token('read'), await own.token('read')];
  await eventually(async () => (await own.call('GET /v1/nodes', { token: modest })).status === 200);
  const sockets: Socket[] = [];
  for (let n = 0; n < 16; n++) {
    const socket = await open(Number(new URL(own.api.url).port));
    socket.on('readable', () => undefined);
    const timer = setInterval(() => socket.read(1), 1_000);
    socket.once('close', () => clearInterval(timer));
    socket.write(`GET /v1/tasks/medium HTTP/1.1\r\n${HEAD}Authorization: Bearer ${greedy}\r\n\r\n`);
    sockets.push(socket);
  }
  const begun = () => sockets.filter((socket) => socket.readableLength > 0).length;
  await eventually(() => begun() >= 4, { what: () => `four answers; there are ${begun()}` });
  await sleep(2_000); // as many as there is room for
  const { status } = await own.call('GET /v1/tasks/medium', { token: modest });
  tally.add('reads many large answers by the byte', status === 200 ? null : `another caller got ${status}`);
  for (const socket of sockets) socket.destroy();
  await own.stop();
  tally.expectNoneThrough(1);
});

test('connections beyond the limit are closed, and make those go that wait for nothing', async () => {
  const limit = 20;
  const own = await openWorld({ limits: { maxConnections: limit } });
  const port = Number(new URL(own.api.url).port);
  const sockets: Socket[] = [];
  for (let n = 0; n < rounds(60, 500); n++) sockets.push(await open(port));
  const held = heldAt(port);
  tally.add('opens more connections than the limit', held.size > limit + 1 ? `${held.size} are held` : null);
  for (const socket of sockets) socket.write('GET /health/live HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n');
  // All that are left have had their answer, and hold every place; another caller gets one.
  await eventually(async () => (await own.call('GET /health/live').catch(() => null))?.status === 200, {
    timeoutMs: HEADERS_MS,
  });
  for (const socket of sockets) socket.destroy();
  await own.stop();
  tally.expectNoneThrough(1);
});
