import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { Connection } from '@temporalio/client';
import { createDatabase } from '../../postgres/testing/database';
import { startPostgres } from '../../workers/embedded';
import { Guard } from '../../workers/embedded/guard';
import { LOOPBACK } from '../../workers/embedded/ports';
import { startServer } from '../../workers/embedded/server';
import { freePorts } from '../helpers/machine/freePort';
import type { ClusterPorts } from './config';
import { configOf, DATABASES, PORT_NAMES } from './config';
import type { Programs } from './programs';
import { DYNAMIC_CONFIG, runTool } from './programs';

/** A real Temporal server on a Postgres of its own. */
export interface Cluster {
  pid: number;
  address: string;
  metricsUrl: string;
  stop(): Promise<void>;
}

const NAMESPACE = 'default';
const RETENTION_S = 86_400;
/** A new namespace is known to all services within about ten seconds. */
const KNOWN_MS = 60_000;
const EVERY_MS = 500;

/** Starts it, with this many history shards, and makes its namespace. */
export const startCluster = async ({ server, sqlTool }: Programs, shards: number): Promise<Cluster> => {
  const postgres = await startPostgres({ settings: { max_connections: '300' } });
  const guard = new Guard([]);
  const folder = mkdtempSync(path.join(os.tmpdir(), 'muster-cluster-'));
  const stop = async (): Promise<void> => {
    await guard.stop();
    await postgres.stop();
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    const { host, hostname, port, username: user, password } = new URL(postgres.url);
    for (const database of DATABASES) {
      await createDatabase(postgres.url, database);
      const to = ['--plugin', 'postgres12', '--endpoint', hostname, '--port', port, '--user', user];
      runTool(sqlTool, [...to, '--database', database, 'setup-schema', '--version', '0.0'], password);
      const schema = `postgresql/v12/${database}`;
      runTool(sqlTool, [...to, '--database', database, 'update-schema', '--schema-name', schema], password);
    }
    const plan = async () => {
      const ports = await lowPorts();
      const config = path.join(folder, 'config');
      mkdirSync(config, { recursive: true });
      const store = { address: host, user, password };
      writeFileSync(path.join(config, 'bench.yaml'), configOf(store, shards, ports, DYNAMIC_CONFIG), { mode: 0o600 });
      return {
        command: {
          file: server,
          args: ['--root', folder, '--config', 'config', '--env', 'bench', '--allow-no-auth', 'start'],
          stopSignal: 'SIGTERM' as const,
          graceMs: 20_000,
        },
        ready: () => answers(`${LOOPBACK}:${ports.frontend}`),
        ports: Object.values(ports),
        details: ports,
      };
    };
    const { handle, details } = await startServer(guard, plan, {
      what: 'The Temporal server',
      passing: /address already in use/i,
      remedy: 'stop what uses its ports',
    });
    const address = `${LOOPBACK}:${details.frontend}`;
    await makeNamespace(address);
    return { pid: handle.pid, address, metricsUrl: `http://${LOOPBACK}:${details.metrics}/metrics`, stop };
  } catch (error) {
    await stop();
    throw error;
  }
};

/** The store of the cluster's members has 15 bits for a port, which is enough for these. */
const lowPorts = (): Promise<ClusterPorts> => freePorts(...PORT_NAMES);

const answers = async (address: string): Promise<boolean> => {
  try {
    const connection = await Connection.connect({ address, connectTimeout: '2s' });
    await connection.close();
    return true;
  } catch {
    return false;
  }
};

/** Makes the namespace, and waits until every service knows it: a list of its workflows answers. */
const makeNamespace = async (address: string): Promise<void> => {
  const connection = await Connection.connect({ address });
  try {
    await connection.workflowService.registerNamespace({
      namespace: NAMESPACE,
      workflowExecutionRetentionPeriod: { seconds: RETENTION_S as never },
    });
    const until = performance.now() + KNOWN_MS;
    for (;;) {
      try {
        await connection.workflowService.listWorkflowExecutions({ namespace: NAMESPACE, pageSize: 1 });
        return;
      } catch (error) {
        if (performance.now() > until) throw error;
        await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
      }
    }
  } finally {
    await connection.close();
  }
};
