import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';
import { defineHandler } from '../../../handlers';
import { eventually } from '../../helpers/eventually';
import type { TestMuster } from '../../helpers/muster';
import { startMuster } from '../../helpers/muster';
import type { Receiver } from './receiver';
import { SECRET, startReceiver } from './receiver';

/**
 * Receivers that accept a connection and never answer hold up no other: 100 messages to them, and
 * then 5 to one that answers.
 *
 * @full
 */

const SILENT = 100;
const HONEST = 5;
/** A delivery to a silent host takes 10 s: who waits for one is later than that. */
const LATE_MS = 6_000;
const silentHosts = Array.from({ length: SILENT }, (_, i) => `127.0.1.${i + 1}`);
const jobs = defineHandler<{ to: string }>({
  name: 'jobs',
  target: ({ to }) => to,
  limits: { maxItems: 1_000 },
  linger: { lingerMs: 0 },
  submit: ({ tasks }) => Promise.resolve({ results: tasks.map(({ id }) => ({ id, status: 'ok' as const })) }),
});

let muster: TestMuster;
let receiver: Receiver;
let silent: Server;
const sockets = new Set<Socket>();
beforeEach(async () => {
  silent = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
    socket.resume();
  });
  silent.listen(0, '0.0.0.0');
  await once(silent, 'listening');
  receiver = await startReceiver();
  muster = await startMuster([jobs], {
    callbacks: { allow: ['127.0.0.1:*', ...silentHosts.map((host) => `${host}:*`)], secret: SECRET },
  });
});
afterEach(async () => {
  await muster.stop();
  await receiver.close();
  for (const socket of sockets) socket.destroy();
  silent.close();
});

/**
 * Sends to hosts that are silent, and once these are being tried to the one that answers. Returns
 * the ms from the end of the tasks to the message, of each.
 */
const run = async (hosts: readonly string[]): Promise<number[]> => {
  const late: number[] = [];
  receiver.answer = (response, _, { body }) => {
    late.push(Date.now() - Date.parse((JSON.parse(body) as { timestamp: string }).timestamp));
    response.writeHead(204).end();
  };
  const { port } = silent.address() as AddressInfo;
  await muster.client.submit(
    'jobs',
    Array.from({ length: SILENT }, (_, i) => ({
      id: `silent-${i}`,
      payload: { to: 'silent' },
      callback: { url: `http://${hosts[i % hosts.length]}:${port}/${i}` },
    })),
  );
  await eventually(() => sockets.size > 0, { what: 'a silent host to be tried' });
  for (let i = 0; i < HONEST; i++)
    await muster.client.submit('jobs', {
      id: `honest-${i}`,
      payload: { to: 'honest' },
      callback: { url: `${receiver.url}/${i}` },
    });
  await eventually(() => late.length === HONEST, {
    what: () => `the honest messages, so far ${late.length}`,
  });
  return late;
};

test.each<[string, readonly string[]]>([
  ['one silent host', silentHosts.slice(0, 1)],
  ['a hundred silent hosts', silentHosts],
])('%s', async (name, hosts) => {
  const found = await run(hosts);
  process.stdout.write(`notifier, ${name}: honest messages late by ${found.join(', ')} ms\n`);
  expect(Math.max(...found)).toBeLessThan(LATE_MS);
});
