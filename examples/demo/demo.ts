import { setTimeout as sleep } from 'node:timers/promises';
import { type Client, createClient } from '../../client';
import { stopOnSignals } from '../../workers/signals';
import { Cleanup } from '../support/cleanup';
import { numberFlag, processFlags, switchFlag } from '../support/flags';
import { CITY_COUNT, type CityTask, cityTasks, expectedOutcome } from './cities';
import { indexCityHandler } from './handler';
import { lookAround, withDevFile } from './lookAround';
import { type Progress, startProgress } from './progress';
import { demoProblems, demoReport, type DemoFigures, type DownstreamStats } from './report';
import { startStack, type Stack } from './stack';
import { endedIn, statesOf } from './states';

/**
 * `npm run demo`: every city as a separate task, through real servers, with a table at the end.
 * Exit code 1 if a figure is wrong.
 */
const flags = processFlags(
  {
    name: 'npm run demo --',
    summary:
      'Every city of the world as a separate task, grouped by country into a bulk index: real servers, started here, with a table at the end.',
    result: 'The table goes to stdout, progress to stderr. Exit code 1 if a figure is wrong, 130 after Ctrl-C.',
    examples: ['', '--limit 5000', '--keep'],
  },
  {
    limit: numberFlag(CITY_COUNT, { text: 'how many of the cities', min: 1, max: CITY_COUNT }),
    workers: numberFlag(2, { text: 'worker processes', min: 1, max: 8 }),
    keep: switchFlag('stay up afterwards, with the Temporal Web UI, until Ctrl-C'),
  },
);
const POLL_MS = 500;
const STUCK_MS = 60_000;
/** As a shell has it: 128 + SIGINT. */
const INTERRUPTED = 130;
const say = (line: string) => process.stderr.write(`${line}\n`);

async function* submitted(progress: Progress, signal: AbortSignal): AsyncGenerator<CityTask> {
  let count = 0;
  for (const task of cityTasks(flags.limit)) {
    signal.throwIfAborted();
    yield task;
    progress.accepted((count += 1));
  }
}

/**
 * Submits all and waits until each has ended. The clock runs from the first submit to the last end.
 */
async function run(client: Client, stack: Stack, signal: AbortSignal): Promise<DemoFigures> {
  const progress = startProgress(flags.limit);
  try {
    const started = performance.now();
    const submitting = client.submit('index-city', submitted(progress, signal));
    const [{ accepted }] = await Promise.all([submitting, untilEnded(client, progress, signal)]);
    const seconds = (performance.now() - started) / 1000;
    const downstream = (await (await fetch(`${stack.downstream.url}/stats`)).json()) as DownstreamStats;
    const { maxItems } = client.handler('index-city').limits;
    const expected = expectedOutcome(cityTasks(flags.limit), maxItems);
    return { accepted, states: await statesOf(client.pool), seconds, maxItems, expected, downstream };
  } finally {
    progress.stop();
  }
}

async function untilEnded(client: Client, progress: Progress, signal: AbortSignal): Promise<void> {
  let [ended, since] = [0, performance.now()];
  for (;;) {
    const states = await statesOf(client.pool);
    if (endedIn(states) > ended) {
      [ended, since] = [endedIn(states), performance.now()];
      progress.ended(ended);
    }
    if (ended >= flags.limit) {
      return;
    }
    if (performance.now() - since > STUCK_MS) {
      throw new Error(`no task has ended for ${STUCK_MS / 1000} s; states: ${JSON.stringify(states)}`);
    }
    await sleep(POLL_MS, undefined, { signal });
  }
}

async function demo(signal: AbortSignal, cleanup: Cleanup): Promise<number> {
  say(`${flags.limit.toLocaleString('en-US')} cities, each a task; ${flags.workers} workers. Starting the servers ...`);
  const stack = await Promise.race([startStack(flags.workers, cleanup, say), aborted(signal)]);
  if (stack === undefined) {
    return INTERRUPTED;
  }
  const client = createClient({
    databaseUrl: stack.databaseUrl,
    handlers: [indexCityHandler({ url: stack.downstream.url })],
    temporal: { address: stack.temporal.address },
  });
  cleanup.add('client', () => client.close());
  const figures = await Promise.race([run(client, stack, signal), stack.broken]);
  process.stdout.write(`${demoReport(figures)}\n`);
  const problems = demoProblems(figures);
  problems.forEach((problem) => say(`WRONG: ${problem}`));
  say(lookAround(stack, flags.keep));
  if (flags.keep) {
    await withDevFile(stack, () => Promise.race([aborted(signal), stack.broken]));
  }
  return problems.length === 0 ? 0 : 1;
}

const aborted = (signal: AbortSignal) =>
  new Promise<void>((resolve) => (signal.aborted ? resolve() : signal.addEventListener('abort', () => resolve())));

async function main(): Promise<void> {
  const stop = stopOnSignals(() => say('ending what was started; once more to end at once'));
  const cleanup = new Cleanup();
  try {
    process.exitCode = await demo(stop.signal, cleanup);
  } catch (error) {
    process.exitCode = stop.signal.aborted ? INTERRUPTED : 1;
    if (!stop.signal.aborted) {
      say(error instanceof Error ? error.message : String(error));
    }
  } finally {
    await cleanup.run();
    process.exit(); // what was still starting when Ctrl-C came ends with us
  }
}

void main();
