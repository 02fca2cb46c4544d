import { randomBytes } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { Connection } from '@temporalio/client';
import { serverArguments, type Ports, type TemporalDevOptions } from './devServerCommand';
import { Guard } from './guard';
import type { GuardedProcess } from './guarded';
import { accepts, checkPort, choosePorts, LOOPBACK } from './ports';
import { startServer, type Attempt, type ServerHandle } from './server';
import type { UiDoor } from './uiDoor';
import { openUiDoor } from './uiDoor';
import { temporalBinary } from './programs/temporalBinary';
import type { Binary } from './programs/tool';

export interface TemporalDev extends ServerHandle {
  address: string;
  namespace: string;
  uiUrl?: string;
  metricsUrl: string;
  binary: Binary;
}

/**
 * Starts the real Temporal dev server of the Temporal CLI and waits until its namespace answers.
 * Rejects if the CLI can neither be found nor fetched, or if the server does not answer within 30 s
 * (with the server's last lines).
 */
export async function startTemporalDev(options: TemporalDevOptions = {}): Promise<TemporalDev> {
  const { namespace = 'default', dbFilename, log } = options;
  checkPort('port', options.port);
  checkPort('uiPort', options.uiPort);
  checkPort('metricsPort', options.metricsPort);
  const binary = await temporalBinary({ log, ...options.binary });
  if (dbFilename !== undefined) {
    mkdirSync(dirname(resolve(dbFilename)), { recursive: true });
  }
  const guard = new Guard([], log);
  let door: UiDoor | null = null;
  const plan = async (): Promise<Attempt<Ports>> => {
    door?.close();
    const opened = await openDoor(options);
    door = opened.door;
    return attempt(binary, options, opened.ports);
  };
  try {
    const { handle, details: ports } = await startServer(guard, plan, {
      what: 'The Temporal dev server',
      // A panic while it is built: its ports were taken between our look and its own; the trace has
      // pushed the reason out.
      passing: /address already in use|database is locked|devserver\.\(\*StartOptions\)\.buildServer/i,
      remedy:
        'give other ports or leave them out, stop what uses them or the dbFilename, or give the address of a running server',
    });
    void handle.exited.then(() => door?.close());
    return {
      ...handle,
      address: `${LOOPBACK}:${ports.port}`,
      namespace,
      uiUrl: options.ui ? `http://${LOOPBACK}:${ports.uiPort}` : undefined,
      metricsUrl: `http://${LOOPBACK}:${ports.metricsPort}/metrics`,
      binary,
    };
  } catch (error) {
    (door as UiDoor | null)?.close();
    await guard.stop();
    throw error;
  }
}

/** Chooses ports, and takes that of the Web UI at once: others if another start was faster. */
const openDoor = async (options: TemporalDevOptions): Promise<{ ports: Ports; door: UiDoor | null }> => {
  for (;;) {
    const ports = await portsFor(options);
    if (options.ui !== true) return { ports, door: null };
    try {
      return { ports, door: await openUiDoor(ports.uiPort, { host: ports.innerUiHost, port: ports.innerUiPort }) };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    }
  }
};

const portsFor = async ({ port, uiPort, metricsPort, usualPorts = {} }: TemporalDevOptions): Promise<Ports> => ({
  ...(await choosePorts({
    port: { asked: port, usual: usualPorts.port },
    uiPort: { asked: uiPort, usual: usualPorts.uiPort },
    innerUiPort: {},
    metricsPort: { asked: metricsPort },
  })),
  innerUiHost: unlikelyLoopback(),
});

/**
 * Returns an address of this machine that no page can guess, as it could a port. Elsewhere than on
 * Linux there is only one.
 */
const unlikelyLoopback = (): string =>
  process.platform === 'linux' ? `127.${[...randomBytes(3)].map((byte) => 1 + (byte % 254)).join('.')}` : LOOPBACK;

async function attempt(binary: Binary, options: TemporalDevOptions, ports: Ports): Promise<Attempt<Ports>> {
  return {
    command: {
      file: binary.path,
      args: serverArguments(options, ports),
      // A server in memory has nothing to put in order, and its ordered stop takes a second.
      stopSignal: options.dbFilename === undefined ? 'SIGKILL' : 'SIGTERM',
      graceMs: 5_000,
    },
    ready: (server) => isReady(server, ports, options),
    ports: [ports.port, ports.metricsPort, ...(options.ui ? [ports.innerUiPort] : [])],
    details: ports,
  };
}

async function isReady(server: GuardedProcess, ports: Ports, options: TemporalDevOptions): Promise<boolean> {
  // The server says so once it holds its port. An answer there is no proof: it may be another
  // server that was faster.
  if (!server.hasSaid(new RegExp(`Server:.*:${ports.port}\\b`))) {
    return false;
  }
  // Plain TCP first: a gRPC channel that was refused once waits a second before it tries again.
  if (!(await accepts(ports.port)) || (options.ui && !(await accepts(ports.innerUiPort, ports.innerUiHost)))) {
    return false;
  }
  // Not Connection.connect: it leaves its channel open where it fails.
  const connection = Connection.lazy({ address: `${LOOPBACK}:${ports.port}`, connectTimeout: '2s' });
  try {
    await connection.ensureConnected();
    await connection.workflowService.describeNamespace({ namespace: options.namespace ?? 'default' });
    const { clusterId } = await connection.workflowService.getClusterInfo({});
    return !options.ui || (await clusterBehind(ports)) === clusterId;
  } catch {
    return false;
  } finally {
    await connection.close();
  }
}

/**
 * Returns the id of the cluster that a Web UI shows: that of our server, if the port is ours.
 */
async function clusterBehind({ innerUiHost, innerUiPort }: Ports): Promise<string> {
  const answer = await fetch(`http://${innerUiHost}:${innerUiPort}/api/v1/cluster-info`, {
    signal: AbortSignal.timeout(2_000),
  });
  return ((await answer.json()) as { clusterId: string }).clusterId;
}
