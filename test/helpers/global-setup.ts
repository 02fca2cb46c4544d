import { execFileSync } from 'node:child_process';
import { statfsSync } from 'node:fs';
import { freemem } from 'node:os';
import path from 'node:path';
import { createStore } from '../../examples/support/database';
import { isCurrent } from '../../workers/buildState';
import { startPostgres, startTemporalDev } from '../../workers/embedded';
import { timeSkippingServerBinary } from '../embedded/timeSkippingServer';
import type { Cluster } from '../cluster/cluster';
import { startCluster } from '../cluster/cluster';
import { buildPrograms } from '../cluster/programs';
import { startPgBouncer } from '../pooler/pgbouncer';
import { TEMPLATE_DATABASE } from './database';

/**
 * Once per run: dist/ for the tests that start real processes, one Postgres, one Temporal dev
 * server, a migrated database to clone.
 */
export default async function globalSetup(): Promise<void> {
  const root = path.join(__dirname, '..', '..');
  // `npm ci` has built already.
  if (process.env['MUSTER_TEST_NO_BUILD'] === undefined && !isCurrent(root, 'sources'))
    execFileSync('npm', ['run', '--silent', 'build'], { cwd: root, stdio: 'inherit' });
  const log = (line: string): void => {
    if (
      process.env['MUSTER_TEST_LOG'] !== undefined ||
      (/Temporal|Postgres|used|download|install/i.test(line) && !/LOG:/.test(line))
    )
      process.stderr.write(`[setup] ${line}\n`);
  };
  const [postgres, temporal, testServer] = await Promise.all([
    // The tests crash processes, not the machine: without fsync they take half the time. The bench
    // keeps it on.
    startPostgres({ settings: { fsync: 'off', max_prepared_transactions: '4' }, ...memoryFolder(), log }),
    startTemporal(log),
    timeSkippingServerBinary(),
  ]);
  await createStore(postgres.url, TEMPLATE_DATABASE);
  const program = process.env['MUSTER_TEST_POOLER'];
  const pooler = program === undefined ? undefined : await startPgBouncer(program, postgres.url);
  if (pooler !== undefined) process.env['MUSTER_TEST_POOLER_PORT'] = String(pooler.port);
  process.env['MUSTER_TEST_POSTGRES_URL'] = postgres.url;
  process.env['MUSTER_TEST_TEMPORAL_ADDRESS'] = temporal.address;
  process.env['MUSTER_TEST_SERVER'] = testServer.path;
  (globalThis as { musterServers?: unknown }).musterServers = { postgres, temporal, pooler };
}

/** The dev server; for `npm run test:cluster` a real one of MUSTER_TEST_SHARDS shards. */
const startTemporal = async (log: (line: string) => void): Promise<Pick<Cluster, 'address' | 'stop'>> => {
  const shards = process.env['MUSTER_TEST_SHARDS'];
  return shards === undefined ? startTemporalDev({ ui: false, log }) : startCluster(buildPrograms(log), Number(shards));
};

const MEMORY = '/dev/shm';
/** Several times of what the databases of four files and their log take at once. */
const ROOM_BYTES = 6 * 2 ** 30;

/**
 * Returns where the databases are to be: in memory if there is room. Each file creates one, of
 * hundreds of files, and drops it, and ext4 looks for a file number past every one that was freed
 * in the last seconds: that took a tenth of the run.
 */
const memoryFolder = (): { temporaryIn?: string } => {
  try {
    const { bavail, bsize } = statfsSync(MEMORY);
    return Math.min(bavail * bsize, freemem()) < ROOM_BYTES ? {} : { temporaryIn: MEMORY };
  } catch {
    return {}; // not on this system
  }
};
