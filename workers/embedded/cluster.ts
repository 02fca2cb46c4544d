import { randomBytes } from 'node:crypto';
import { chownSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { publish, removeStale } from './programs/cache';
import type { User } from './commands';
import type { Guard } from './guard';
import type { PostgresBinaries } from './programs/postgresBinary';
import { asReachedBy } from './serverUser';

const NEW_PREFIX = '.new-';

export interface Cluster {
  /** The data directory of Postgres itself, inside the caller's `dataDir`. */
  path: string;
  password: string;
}

export interface ClusterOptions {
  dataDir: string;
  /**
   * False for a cluster that does not outlive this run: nothing to make durable at its creation.
   */
  durable: boolean;
  guard: Guard;
  user?: User;
  binaries: PostgresBinaries;
}

export function clusterPath(dataDir: string): string {
  return join(dataDir, 'cluster');
}

/**
 * Returns the cluster in `dataDir`, made if there is none. It is made aside and put in place by one
 * rename, with its password in it, so that a start that was killed, or two at once, leave a whole
 * cluster or none.
 */
export async function ensureCluster(options: ClusterOptions): Promise<Cluster> {
  const { dataDir } = options;
  const path = clusterPath(dataDir);
  if (existsSync(join(dataDir, 'PG_VERSION'))) {
    throw new Error(
      `dataDir: expected a new directory or one that Muster made, got a cluster of another tool at ${dataDir}; ` +
        'choose another, or run that cluster and give DATABASE_URL',
    );
  }
  if (!existsSync(path)) {
    await makeCluster(options, path);
  }
  return { path, password: readFileSync(passwordFile(path), 'utf8').trim() };
}

function passwordFile(cluster: string): string {
  return join(cluster, 'muster-password');
}

async function makeCluster(options: ClusterOptions, path: string): Promise<void> {
  const { dataDir, durable, guard, user } = options;
  // Another user must be able to pass through; on Linux it need not (`asReachedBy`).
  const isOurs = user === undefined || process.platform === 'linux';
  mkdirSync(dataDir, { recursive: true, mode: isOurs ? 0o700 : 0o711 });
  removeStale(dataDir, NEW_PREFIX);
  const aside = mkdtempSync(join(dataDir, NEW_PREFIX));
  guard.alsoRemove(aside);
  own(aside, user);
  const password = randomBytes(24).toString('base64url');
  const fresh = await initialise(options, aside, password);
  writeFileSync(passwordFile(fresh), `${password}\n`, { mode: 0o600, flush: durable });
  own(passwordFile(fresh), user);
  publish(fresh, path);
  rmSync(aside, { recursive: true });
}

/**
 * Makes the cluster in `aside`, which its user owns and so reaches wherever it is, with the
 * password beside it; returns its path.
 */
async function initialise(options: ClusterOptions, aside: string, password: string): Promise<string> {
  const { durable, guard, user, binaries } = options;
  const fresh = join(aside, 'cluster');
  const passwordSource = join(aside, 'initial-password');
  writeFileSync(passwordSource, password, { mode: 0o600 });
  own(passwordSource, user);
  mkdirSync(fresh, { mode: 0o700 });
  own(fresh, user);
  const reached = await asReachedBy(user, fresh);
  const initdb = await guard.run({
    file: binaries.initdb,
    args: [
      ...['--pgdata', reached, '--username', 'postgres'],
      // Not by `join`: the name may go by the working directory, whose parent the kernel knows.
      ...['--pwfile', `${reached}/../${basename(passwordSource)}`],
      ...['--auth', 'scram-sha-256', '--encoding', 'UTF8', '--no-instructions'],
      // Postgres' own collation: the same order on every machine, whatever locales it has.
      ...['--locale', 'C', '--locale-provider', 'builtin', '--builtin-locale', 'C.UTF-8'],
      ...(durable ? [] : ['--no-sync']),
    ],
    cwd: fresh,
    user,
    stopSignal: 'SIGTERM',
    graceMs: 5_000,
  });
  const exit = await initdb.exited;
  if (exit.code !== 0) {
    throw new Error(`Postgres: initdb failed in ${fresh}. Its last lines:\n${initdb.recentLines().join('\n')}`);
  }
  return fresh;
}

function own(path: string, user?: User): void {
  if (user !== undefined) {
    chownSync(path, user.uid, user.gid);
  }
}
