import { randomInt } from 'node:crypto';
import { choosePorts } from '../../../workers/embedded/ports';

/**
 * Ports for what tests start later, or leave closed: apart from those that embedded servers choose,
 * and from those that a system hands to connections. A slice for each worker of jest, since another
 * one's choice may not be bound yet.
 */
const PORTS = { least: 30_000, most: 32_767 };
const WORKERS = 8;
const SLICE = Math.floor((PORTS.most + 1 - PORTS.least) / WORKERS);
const least = PORTS.least + (Number(process.env['JEST_WORKER_ID'] ?? 0) % WORKERS) * SLICE;

/** Chooses a port for each name. */
export const freePorts = async <Name extends string>(...names: readonly Name[]): Promise<Record<Name, number>> => {
  for (;;) {
    const wanted = names.map((name) => [name, { usual: least + randomInt(SLICE) }] as const);
    const ports = await choosePorts(Object.fromEntries(wanted) as Record<Name, { usual: number }>);
    if (Object.values<number>(ports).every((port) => port >= least && port < least + SLICE)) return ports;
  }
};

/** Chooses one. */
export const freePort = async (): Promise<number> => (await freePorts('port')).port;
