import { numberFlag, processFlags } from '../../examples/support/flags';
import { createStore } from '../../examples/support/database';
import { startPostgres, startTemporalDev } from '../../workers/embedded';
import { runStops } from './run';

/**
 * `npm run test:stops -- --stops 50 --workers 2`: worker processes that do not run for some
 * seconds, as under a paused VM or a throttled cgroup.
 */

const flags = processFlags(
  {
    name: 'npm run test:stops --',
    summary: 'Stops worker processes inside workflow code while tasks arrive, and sees whether sending goes on.',
    result:
      'One line of JSON on stdout, what happens on stderr. Exit code 1 if a process died, a task was left, or sending did not go on within --within.',
    examples: ['--stops 50 --workers 1', '--stops 50 --workers 2 --stop-ms 6000'],
  },
  {
    stops: numberFlag(50, { text: 'SIGSTOPs, one after another', min: 1 }),
    workers: numberFlag(2, { text: 'worker processes, stopped in turns', min: 1, max: 8 }),
    'stop-ms': numberFlag(6_000, { text: 'how long each stop lasts', min: 1, unit: 'ms' }),
    rate: numberFlag(200, { text: 'tasks per second', min: 1 }),
    'isolate-ms': numberFlag(undefined, {
      text: "limit of workflow code's time",
      min: 1,
      unit: 'ms',
      unset: "the product's",
    }),
    within: numberFlag(30_000, { text: 'sending must go on within this after the last stop', min: 1, unit: 'ms' }),
  },
);

const run = async (): Promise<boolean> => {
  const log = (line: string): void => void process.stderr.write(`${line}\n`);
  const { stops, workers, rate, within } = flags;
  // Processes are stopped here, not the machine: without fsync the disk is left alone.
  const [postgres, temporal] = await Promise.all([startPostgres({ settings: { fsync: 'off' } }), startTemporalDev()]);
  try {
    const databaseUrl = await createStore(postgres.url, 'stops');
    const { address } = temporal;
    const figures = await runStops({
      databaseUrl,
      address,
      prefix: 'stops',
      workers,
      stops,
      stopMs: flags['stop-ms'],
      rate,
      isolateMs: flags['isolate-ms'],
      log,
    });
    const { deaths, goesOnMs, drainedMs } = figures;
    const passed = deaths === 0 && goesOnMs !== null && goesOnMs <= within && drainedMs !== null;
    process.stdout.write(`${JSON.stringify({ ...figures, passed })}\n`);
    return passed;
  } finally {
    await Promise.all([temporal.stop(), postgres.stop()]);
  }
};

run().then(
  (passed) => process.exit(passed ? 0 : 1),
  (error: unknown) => {
    process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
    process.exit(1);
  },
);
