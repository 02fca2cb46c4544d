import Table from 'cli-table3';
import { createStore } from '../../../examples/support/database';
import { numberFlag, processFlags } from '../../../examples/support/flags';
import { createPool } from '../../../postgres/pool';
import { startPostgres } from '../../../workers/embedded';
import { figures } from './measure';
import { fillStore } from './store';

/**
 * `npm run bench:lists -- [--tasks N]`: how long every list and lookup takes in a store of that
 * many tasks, and how many rows it reads. On a real Postgres in a temporary folder, which is
 * deleted.
 */
const flags = processFlags(
  {
    name: 'npm run bench:lists --',
    summary:
      'How long every list and lookup takes in a large store, and how many rows it reads. ' +
      'On a real Postgres in a temporary folder (2 KB per task), without Temporal.',
    result: 'One line of JSON per question on stdout, a table on stderr.',
    examples: ['', '--tasks 10000000'],
  },
  {
    tasks: numberFlag(1_000_000, { text: 'tasks in the store', min: 10_000 }),
    runs: numberFlag(20, { text: 'times that each is asked', min: 1 }),
    pages: numberFlag(99, { text: 'pages after the first', min: 1 }),
  },
);

const say = (line: string): void => void process.stderr.write(`${line}\n`);

async function main(): Promise<void> {
  // No test of durability: the store is filled faster without fsync, and the questions only read.
  const postgres = await startPostgres({
    settings: { fsync: 'off', synchronous_commit: 'off', max_wal_size: '4GB', autovacuum: 'off' },
    log: () => undefined,
  });
  try {
    const databaseUrl = await createStore(postgres.url, 'lists');
    const pool = createPool({ databaseUrl, max: 1 });
    const begun = performance.now();
    await fillStore(pool, flags.tasks, { log: say }).finally(() => pool.end());
    say(`filled in ${Math.round((performance.now() - begun) / 1_000)} s`);
    const table = new Table({ head: ['', '', 'p50 ms', 'p99 ms', 'rows read'], style: { head: [], border: [] } });
    for await (const { group, name, times, rows } of figures(databaseUrl, flags)) {
      const [p50, p99] = [quantile(times, 0.5), quantile(times, 0.99)];
      process.stdout.write(`${JSON.stringify({ tasks: flags.tasks, group, name, p50, p99, rows })}\n`);
      table.push([group, name, p50, p99, rows.toLocaleString('en-US')]);
    }
    say(table.toString());
  } finally {
    await postgres.stop();
  }
}

const quantile = (times: readonly number[], share: number): number => {
  const sorted = [...times].sort((a, b) => a - b);
  return Math.round(10 * sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]!) / 10;
};

main().catch((error: unknown) => {
  say(error instanceof Error ? (error.stack ?? error.message) : String(error));
  process.exitCode = 1;
});
