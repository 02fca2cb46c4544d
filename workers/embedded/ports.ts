import { createServer, type AddressInfo, type Server } from 'node:net';

/** Everything embedded listens on loopback only. */
export const LOOPBACK = '127.0.0.1';

/** Throws unless `port` is left out or an integer from 1 to 65535. `field` is the option's name, for the message. */
export function checkPort(field: string, port: number | undefined): void {
  if (port !== undefined && (!Number.isInteger(port) || port < 1 || port > 65_535)) {
    throw new Error(
      `${field}: expected an integer from 1 to 65535, got ${port}; leave it out to have a free port chosen`,
    );
  }
}

/**
 * `count` different ports that were free a moment ago. Another process may still take one before the server binds it, so a server that
 * finds its port in use is started again on others (`startServer`).
 */
export async function freePorts(count: number): Promise<number[]> {
  // All are held at once, or the same port could be chosen twice.
  const holders = await Promise.all(Array.from({ length: count }, hold));
  const ports = holders.map((holder) => (holder.address() as AddressInfo).port);
  await Promise.all(holders.map((holder) => new Promise((resolve) => holder.close(resolve))));
  return ports;
}

function hold(): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, LOOPBACK, () => resolve(server));
  });
}
