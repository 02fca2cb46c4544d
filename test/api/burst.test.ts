import { readFileSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import type { ApiWorld } from './world';
import { openWorld } from './world';

/**
 * A burst of connections that comes while the API's process does something else: the system keeps
 * each until it is accepted.
 */

const CONNECTIONS = 800;
const WAITS_MS = 20_000;

let world: ApiWorld;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.stop());

/**
 * Opens connections, counts in `state[1]` those that are there, and wakes who waits on `state[0]`
 * at the last.
 */
const OPEN = `
const { connect } = require('node:net');
const { workerData: { host, port, connections, state } } = require('node:worker_threads');
for (let n = 0; n < connections; n++)
  connect(port, host).on('error', () => undefined).on('connect', () => {
    if (Atomics.add(state, 1, 1) + 1 < connections) return;
    Atomics.store(state, 0, 1);
    Atomics.notify(state, 0);
  });`;

test(`${CONNECTIONS} connections at once reach a process that accepts none at the moment`, async () => {
  // Otherwise the system keeps fewer than the API asks for.
  expect(Number(readFileSync('/proc/sys/net/core/somaxconn', 'utf8'))).toBeGreaterThan(CONNECTIONS);
  const { hostname: host, port } = new URL(world.api.url);
  const state = new Int32Array(new SharedArrayBuffer(8));
  const opener = new Worker(OPEN, {
    eval: true,
    workerData: { host, port: Number(port), connections: CONNECTIONS, state },
  });
  try {
    Atomics.wait(state, 0, 0, WAITS_MS); // holds this thread, which is the API's
    expect(Atomics.load(state, 1)).toBe(CONNECTIONS);
  } finally {
    await opener.terminate();
  }
});
