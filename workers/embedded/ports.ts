import { randomInt } from 'node:crypto';
import { connect, createServer, type AddressInfo, type Server } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** Everything embedded listens on loopback only. */
export const LOOPBACK = '127.0.0.1';

/**
 * How long a port asked for may still be held by its last owner: an ordered stop takes about a
 * second.
 */
const RELEASE_MS = 3_000;

/**
 * Where free ports are chosen: below those that a system hands to connections (from 32768 on Linux,
 * from 49152 elsewhere) and below the node ports of Kubernetes. One of the system's own choice is
 * soon some connection's: before its server binds it, or while that server restarts.
 */
const QUIET_PORTS = { least: 20_000, most: 29_999 };
/** After as many taken ones, the system chooses. */
const QUIET_TRIES = 20;

/** Says whether a server can be asked for at this port. */
export const isPort = (port: number): boolean => Number.isInteger(port) && port >= 1 && port <= 65_535;

/**
 * Throws unless `port` is left out or an integer from 1 to 65535. `field` is the option's name, for
 * the message.
 */
export function checkPort(field: string, port: number | undefined): void {
  if (port !== undefined && !isPort(port)) {
    throw new Error(
      `${field}: expected an integer from 1 to 65535, got ${port}; leave it out to have a free port chosen`,
    );
  }
}

/**
 * `asked`: this one or none; `usual`: this one or, if that is taken, any free one. Neither: any
 * free one.
 */
export interface WantedPort {
  asked?: number;
  usual?: number;
}

/**
 * A port for each field. Rejects if one asked for stays in use for 3 s. Another process may still
 * take a port before the server binds it, so a server that finds its port in use is started again
 * (`startServer`).
 */
export async function choosePorts<Field extends string>(wanted: Record<Field, WantedPort>) {
  const chosen = {} as Record<Field, number>;
  const holders: Server[] = [];
  try {
    // Those asked for first, and all held until the last is chosen: or one port could be chosen
    // twice.
    const fields = Object.keys(wanted) as Field[];
    for (const field of fields.sort((a, b) => rank(wanted[a]) - rank(wanted[b]))) {
      const { asked, usual } = wanted[field];
      const holder =
        asked === undefined
          ? ((usual === undefined ? null : await listenIfFree(usual)) ?? (await listenSomewhere()))
          : await hold(field, asked);
      holders.push(holder);
      chosen[field] = (holder.address() as AddressInfo).port;
    }
  } finally {
    await Promise.all(holders.map((holder) => new Promise((resolve) => holder.close(resolve))));
  }
  return chosen;
}

/** Those that may be only one port come first. */
const rank = ({ asked, usual }: WantedPort): number => (asked !== undefined ? 0 : usual !== undefined ? 1 : 2);

async function listenIfFree(port: number): Promise<Server | null> {
  try {
    return await listen(port);
  } catch {
    return null;
  }
}

async function listenSomewhere(): Promise<Server> {
  for (let tries = 0; tries < QUIET_TRIES; tries++) {
    const server = await listenIfFree(randomInt(QUIET_PORTS.least, QUIET_PORTS.most + 1));
    if (server !== null) return server;
  }
  return listen(0);
}

async function hold(field: string, port: number): Promise<Server> {
  const deadline = Date.now() + RELEASE_MS;
  for (;;) {
    try {
      return await listen(port);
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      if (code !== 'EADDRINUSE' || Date.now() > deadline) {
        const why = code === 'EADDRINUSE' ? 'which another program listens on' : `which cannot be used (${message})`;
        throw new Error(
          `${field}: expected a free port on ${LOOPBACK}, got ${port}, ${why}; leave it out, or stop that program`,
        );
      }
      await sleep(50);
    }
  }
}

function listen(port: number): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(port, LOOPBACK, () => resolve(server));
  });
}

/** Says whether a server listens there. */
export function accepts(port: number, host = LOOPBACK): Promise<boolean> {
  return new Promise((answer) => {
    const socket = connect(port, host, () => {
      socket.destroy();
      answer(true);
    });
    socket.once('error', () => answer(false));
  });
}
