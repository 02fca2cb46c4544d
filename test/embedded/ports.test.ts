import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { choosePorts, LOOPBACK } from '../../workers/embedded/ports';

/** Which ports are chosen for servers that may have any. */

const names = Array.from({ length: 100 }, (_, n) => `p${n}`);

/** The least that the system gives to connections: Linux says it, others go by RFC 6335. */
const leastOfConnections = (): number => {
  if (process.platform !== 'linux') return 49_152;
  return Number(readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8').split(/\s/)[0]);
};

test('free ports are below those that become connections, and differ', async () => {
  const chosen = Object.values(await choosePorts(Object.fromEntries(names.map((name) => [name, {}]))));
  expect(new Set(chosen).size).toBe(names.length);
  expect(Math.min(...chosen)).toBeGreaterThan(1_023);
  expect(Math.max(...chosen)).toBeLessThan(leastOfConnections());
});

test('in place of a usual port that is taken, such a one is chosen', async () => {
  const holder = createServer().listen(0, LOOPBACK);
  await once(holder, 'listening');
  const taken = (holder.address() as { port: number }).port;
  const { port } = await choosePorts({ port: { usual: taken } });
  holder.close();
  expect(port).not.toBe(taken);
  expect(port).toBeLessThan(leastOfConnections());
});
