import Table from 'cli-table3';
import { createStore } from '../../examples/support/database';
import { numberFlag, processFlags, switchFlag } from '../../examples/support/flags';
import type { Pool } from '../../postgres/pool';
import { createPool } from '../../postgres/pool';
import { startPostgres } from '../../workers/embedded';
import type { FanoutMeasure } from './measures/fanoutMeasures';
import { bitsOf, latencyOf, rowsOf } from './measures/fanoutMeasures';

/**
 * `npm run bench:fanout -- [--items N] [--short]`: what an item costs in time and bytes at segment
 * sizes 64, 512 and 8,000, against a row an item with a counter query, and how soon a completion is
 * known. On a real Postgres that flushes to disk, without Temporal. One JSON line a measure on
 * stdout, a table on stderr; exit code 1 if more than half a byte an item is stored at 8,000.
 */
const flags = processFlags(
  {
    name: 'npm run bench:fanout --',
    summary:
      'What an item of a fan-out costs in time and bytes at segment sizes 64, 512 and 8,000, against ' +
      'a row an item with a counter query, and how soon a completion is known. On a real Postgres, ' +
      'without Temporal.',
    result:
      'One line of JSON a measure on stdout, a table on stderr. Exit code 1 if more than half a byte an item is stored at 8,000.',
    examples: ['', '--short'],
  },
  {
    items: numberFlag(1_000_000, { text: 'items of each measure', min: 10_000 }),
    short: switchFlag('100,000 items, whatever --items says, and 40 completions instead of 200'),
  },
);
const items = flags.short ? 100_000 : flags.items;

const SIZES = [64, 512, 8_000];
const MOST_BYTES = 0.5;

const withDatabase = async <T>(url: string, name: string, work: (pool: Pool) => Promise<T>): Promise<T> => {
  const pool = createPool({ databaseUrl: await createStore(url, name), max: 10 });
  return work(pool).finally(() => pool.end());
};

const show = (measures: readonly FanoutMeasure[]): string => {
  const table = new Table({
    head: [
      '',
      'items',
      'added/s',
      'bytes/item',
      'after all acks',
      'acks/s one by one',
      'WAL B each',
      'in a small one',
      'by 1,000 in order',
      'by 1,000 scattered',
    ],
    style: { head: [], border: [] },
  });
  const n = (value: number): string => value.toLocaleString('en-US');
  for (const one of measures)
    table.push([
      one.layout,
      n(one.items),
      n(one.addedPerS),
      one.bytesPerItem,
      one.bytesPerItemAfter,
      n(one.acksPerSSingly),
      n(one.walBytesPerSingleAck),
      n(one.acksPerSInASmallOne),
      n(one.acksPerSBy1000),
      n(one.acksPerSBy1000Scattered),
    ]);
  return table.toString();
};

async function main(): Promise<void> {
  const postgres = await startPostgres({ log: () => undefined });
  const say = (line: string): void => void process.stderr.write(`${line}\n`);
  try {
    const measures: FanoutMeasure[] = [];
    const print = (measure: object): void => void process.stdout.write(`${JSON.stringify(measure)}\n`);
    for (const size of SIZES) {
      measures.push(await withDatabase(postgres.url, `bits_${size}`, (pool) => bitsOf(pool, size, items)));
      print(measures.at(-1)!);
    }
    measures.push(await withDatabase(postgres.url, 'rows', (pool) => rowsOf(pool, items)));
    print(measures.at(-1)!);
    const latency = await withDatabase(postgres.url, 'latency', (pool) => latencyOf(pool, flags.short ? 40 : 200));
    print(latency);
    say(show(measures));
    say(
      `completion: the last ack says so after ${latency.answerMs.p50} ms (p99 ${latency.answerMs.p99}), a waiting client knows after ${latency.waitingMs.p50} ms (p99 ${latency.waitingMs.p99})`,
    );
    if (measures[2]!.bytesPerItem > MOST_BYTES) {
      say(`missed: ${measures[2]!.bytesPerItem} bytes an item at 8,000, at most ${MOST_BYTES} asked`);
      process.exitCode = 1;
    }
  } finally {
    await postgres.stop();
  }
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
  process.exitCode = 1;
});
