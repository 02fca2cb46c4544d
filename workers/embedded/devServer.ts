import { mkdirSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { Connection } from '@temporalio/client';
import { serverArguments, type Ports, type TemporalDevOptions } from './devServerCommand';
import { Guard } from './guard';
import type { GuardedProcess } from './guarded';
import { accepts, checkPort, choosePorts, LOOPBACK } from './ports';
import { startServer, type Attempt, type ServerHandle } from './server';
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
  try {
    const { handle, details: ports } = await startServer(guard, () => attempt(binary, options), {
      what: 'The Temporal dev server',
      // A panic while it is built: its ports were taken between our look and its own; the trace has
      // pushed the reason out.
      passing: /address already in use|database is locked|devserver\.\(\*StartOptions\)\.buildServer/i,
      remedy:
        'give other ports or leave them out, stop what uses them or the dbFilename, or give the address of a running server',
    });
    return {
      ...handle,
      address: `${LOOPBACK}:${ports.port}`,
      namespace,
      uiUrl: options.ui ? `http://${LOOPBACK}:${ports.uiPort}` : undefined,
      metricsUrl: `http://${LOOPBACK}:${ports.metricsPort}/metrics`,
      binary,
    };
  } catch (error) {
    await guard.stop();
    throw error;
  }
}

async function attempt(binary: Binary, options: TemporalDevOptions): Promise<Attempt<Ports>> {
  const { port, uiPort, metricsPort, usualPorts = {} } = options;
  const ports = await choosePorts({
    port: { asked: port, usual: usualPorts.port },
    uiPort: { asked: uiPort, usual: usualPorts.uiPort },
    metricsPort: { asked: metricsPort },
  });
  return {
    command: {
      file: binary.path,
      args: serverArguments(options, ports),
      // A server in memory has nothing to put in order, and its ordered stop takes a second.
      stopSignal: options.dbFilename === undefined ? 'SIGKILL' : 'SIGTERM',
      graceMs: 5_000,
    },
    ready: (server) => isReady(server, ports, options),
    ports: [ports.port, ports.metricsPort, ...(options.ui ? [ports.uiPort] : [])],
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
  if (!(await accepts(ports.port)) || (options.ui && !(await accepts(ports.uiPort)))) {
    return false;
  }
  // Not Connection.connect: it leaves its channel open where it fails.
  const connection = Connection.lazy({ address: `${LOOPBACK}:${ports.port}`, connectTimeout: '2s' });
  try {
    await connection.ensureConnected();
    await connection.workflowService.describeNamespace({ namespace: options.namespace ?? 'default' });
    const { clusterId } = await connection.workflowService.getClusterInfo({});
    return !options.ui || (await clusterBehind(ports.uiPort)) === clusterId;
  } catch {
    return false;
  } finally {
    await connection.close();
  }
}

/**
 * Returns the id of the cluster that a Web UI shows: that of our server, if the port is ours.
 */
async function clusterBehind(uiPort: number): Promise<string> {
  const answer = await fetch(`http://${LOOPBACK}:${uiPort}/api/v1/cluster-info`, {
    signal: AbortSignal.timeout(2_000),
  });
  return ((await answer.json()) as { clusterId: string }).clusterId;
}
