import type { Progress } from './arrive';
import type { BenchCase } from './cases';
import type { Child } from './rig/child';
import { startChild } from './rig/child';
import type { FloorKind, FloorStart } from './floor/floor';
import type { Servers } from './rig/servers';
import { script } from './rig/servers';
import type { WatchedStore } from './rig/store';
import { openConnection, watchFloor, watchMuster } from './rig/store';

/**
 * One of those that are compared: a worker process, a submitting process, a store. They live for a
 * case, and are warm when it counts.
 */
export interface Side {
  name: 'muster' | FloorKind;
  worker: Child;
  client: Child;
  store: WatchedStore;
  usesTemporal: boolean;
  /** Before the first submit. */
  begin(run: string, benchCase: BenchCase): Promise<unknown>;
  /** The last task is in. */
  submitted(benchCase: BenchCase): Promise<unknown> | void;
  /** Waits for the worker's own end of the run; rejects with its error. */
  finish(): Promise<unknown>;
}

export interface Sides {
  all: Side[];
  stop(): Promise<void>;
}

export const openSides = async (servers: Servers, benchCase: BenchCase, nodeArgs: string[] = []): Promise<Sides> => {
  const kinds: FloorKind[] = benchCase.overMs === undefined ? ['target', 'sixteen', 'set'] : ['poller'];
  const { sides: floors, stop: stopFloors } = await openFloors(servers, kinds);
  const { side: muster, stop: stopMuster } = await openMuster(servers, benchCase, nodeArgs);
  return {
    all: [...floors, muster],
    stop: async () => {
      await stopFloors();
      await stopMuster();
    },
  };
};

/**
 * All floors are one pair of processes: they do the same thing in different orders, and never at
 * the same time.
 */
const openFloors = async (
  servers: Servers,
  kinds: readonly FloorKind[],
): Promise<{ sides: Side[]; stop: () => Promise<void> }> => {
  const worker = startChild(script('floor/floor'));
  let live = false;
  const client = startChild(script('floor/floorClient'), [], ({ tasks }: Progress) =>
    worker.tell('progress', { tasks, ended: false, live }),
  );
  await Promise.all([worker.ask('open', servers.floorUrl), client.ask('open', servers.floorUrl)]);
  const connection = await openConnection(servers.floorUrl);
  const side = (name: FloorKind): Side => ({
    name,
    worker,
    client,
    store: watchFloor(connection),
    usesTemporal: false,
    begin: (run, { targets, maxItems, lingerMs, overMs }) => {
      live = overMs !== undefined;
      return worker.ask('start', {
        kind: name,
        run,
        targets,
        maxItems,
        lingerMs,
        port: servers.downstreamPort,
      } satisfies FloorStart);
    },
    submitted: ({ tasks }) => worker.tell('progress', { tasks, ended: true, live }),
    finish: () => worker.ask('finish'),
  });
  const stop = async (): Promise<void> => {
    await Promise.all([worker.stop(), client.stop()]);
    await connection.end();
  };
  return { sides: kinds.map(side), stop };
};

/** Muster's side alone. */
export const openMuster = async (
  servers: Servers,
  benchCase: BenchCase,
  nodeArgs: string[],
): Promise<{ side: Side; stop: () => Promise<void> }> => {
  const name = `muster_${benchCase.name.replace(/\W/g, '_')}`;
  const databaseUrl = await servers.createMusterDatabase(name);
  const { maxItems, lingerMs } = benchCase;
  const open = {
    databaseUrl,
    temporalAddress: servers.temporal.address,
    port: servers.downstreamPort,
    maxItems,
    lingerMs,
  };
  const worker = startChild(script('muster/musterWorker'), nodeArgs);
  const client = startChild(script('muster/musterClient'), nodeArgs);
  await worker.ask('open', open); // the handler is registered by it first
  await client.ask('open', open);
  const connection = await openConnection(databaseUrl);
  const side: Side = {
    name: 'muster',
    worker,
    client,
    store: watchMuster(connection),
    usesTemporal: true,
    begin: () => Promise.resolve(),
    submitted: ({ overMs }) => (overMs === undefined ? client.ask('flush') : undefined),
    finish: () => Promise.resolve(),
  };
  const stop = async (): Promise<void> => {
    await client.stop();
    await worker.stop();
    await connection.end();
    // Else the next case pays for the vacuum of this one's tables, and its WAL counts it.
    await servers.dropMusterDatabase(name);
  };
  return { side, stop };
};
