import Table from 'cli-table3';
import { createStore } from '../../examples/support/database';
import { numberFlag, processFlags, switchFlag } from '../../examples/support/flags';
import { createPool } from '../../postgres/pool';
import { startPostgres } from '../../workers/embedded';
import type { OperationMeasure } from './measures/operationsMeasures';
import { measure, OPERATIONS } from './measures/operationsMeasures';
import { fillStore } from './measures/operationsStore';

/**
 * `npm run bench:operations -- [--tasks N] [--short]`: how long `verify`, `status`, `explain` and
 * lists of tasks take in a store of that many tasks, and how many rows they read. On a real
 * Postgres, without Temporal. One JSON line a measure on stdout, a table on stderr; exit code 1 if
 * what is asked often takes 5 s.
 */
const flags = processFlags(
  {
    name: 'npm run bench:operations --',
    summary:
      'How long verify, status, explain and lists of tasks take in a store of that many tasks, and how many rows they read. On a real Postgres, without Temporal.',
    result:
      'One line of JSON a measure on stdout, a table on stderr. Exit code 1 if one of those asked often takes 5 s.',
    examples: ['', '--short', '--tasks 3000000'],
  },
  {
    tasks: numberFlag(1_000_000, { text: 'tasks in the store', min: 10_000 }),
    short: switchFlag('100,000 tasks, whatever --tasks says'),
  },
);
const tasks = flags.short ? 100_000 : flags.tasks;

const MOST_MS = 5_000;
const isWhole = (operation: string): boolean => operation.includes('--');

async function main(): Promise<void> {
  const postgres = await startPostgres({ log: () => undefined });
  const say = (line: string): void => void process.stderr.write(`${line}\n`);
  try {
    const databaseUrl = await createStore(postgres.url, 'bench');
    const pool = createPool({ databaseUrl, max: 1 });
    await fillStore(pool, tasks).finally(() => pool.end());
    const table = new Table({ head: ['', 'tasks', 'ms', 'rows read'], style: { head: [], border: [] } });
    for (const [operation, work] of Object.entries(OPERATIONS)) {
      const one: OperationMeasure = { operation, tasks, ...(await measure(databaseUrl, work)) };
      process.stdout.write(`${JSON.stringify(one)}\n`);
      table.push([operation, ...[one.tasks, one.ms, one.rowsRead].map((n) => n.toLocaleString('en-US'))]);
      if (one.ms < MOST_MS || isWhole(operation)) continue;
      say(`missed: ${operation} took ${one.ms} ms, less than ${MOST_MS} asked`);
      process.exitCode = 1;
    }
    say(table.toString());
  } finally {
    await postgres.stop();
  }
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
  process.exitCode = 1;
});
