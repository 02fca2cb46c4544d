import fc from 'fast-check';
import { numberFlag, processFlags, switchFlag } from '../../examples/support/flags';
import { laneScenario } from './lanes/scenario';
import { simulatedLanes } from './lanes/simulated';
import { playPlain } from './plain';
import { scenario } from './scenario';
import { simulated } from './simulated';

/**
 * `npm run bench:simulate -- [--scenarios N] [--seed S] [--plain | --lanes]`: how many scenarios
 * `simulate` plays per second of one core. One JSON line on stdout.
 */
const flags = processFlags(
  {
    name: 'npm run bench:simulate --',
    summary: 'How many scenarios `simulate` plays per second: random ones that the tests also play on the real store.',
    result: 'One line of JSON on stdout. Exit code 1 if it is fewer per second of CPU time than asked: 150, plain 500.',
    examples: ['', '--scenarios 10000 --seed 7', '--plain', '--lanes'],
  },
  {
    scenarios: numberFlag(4_000, { text: 'scenarios that are played', min: 1 }),
    seed: numberFlag(1, { text: 'of the scenarios', min: 0 }),
    plain: switchFlag('one scenario as users write them, each time from the definition of its handler'),
    lanes: switchFlag('scenarios of lanes, of which nothing is asked'),
  },
);
/** Three fifths of what it does on a busy machine. */
const ASKED_PER_CPU_S = { random: 150, plain: 500 };
/** Rounds before the measured ones: what is run for the first time is compiled. */
const WARM_UP = 500;

type Play = () => Promise<{ batches: unknown[]; tasks: object }>;

const playsOf = (lanes: boolean, sample: { numRuns: number; seed: number }): Play[] =>
  lanes
    ? fc.sample(laneScenario, sample).map((one) => () => simulatedLanes(one))
    : fc.sample(scenario, sample).map((one) => () => simulated(one));

async function main(): Promise<void> {
  const { scenarios, seed, lanes, plain } = flags;
  if (lanes && plain) throw new Error('Cannot measure both: expected --plain or --lanes, got both. Leave one out.');
  const played = plain
    ? Array.from({ length: scenarios }, () => playPlain)
    : playsOf(lanes, { numRuns: scenarios, seed });
  if (plain) for (let i = 0; i < WARM_UP; i++) await playPlain();
  const startedAt = performance.now();
  const before = process.cpuUsage();
  let tasks = 0;
  let batches = 0;
  for (const play of played) {
    const story = await play();
    tasks += Object.keys(story.tasks).length;
    batches += story.batches.length;
  }
  const seconds = (performance.now() - startedAt) / 1_000;
  const { user, system } = process.cpuUsage(before);
  const cpuSeconds = (user + system) / 1e6;
  const perSecond = Math.round(scenarios / seconds);
  const perCpuSecond = Math.round(scenarios / cpuSeconds);
  const figures = {
    scenarios,
    seed,
    lanes,
    plain,
    tasks,
    batches,
    seconds: Number(seconds.toFixed(2)),
    perSecond,
    perCpuSecond,
  };
  process.stdout.write(`${JSON.stringify(figures)}\n`);
  const asked = plain ? ASKED_PER_CPU_S.plain : ASKED_PER_CPU_S.random;
  if (!lanes && perCpuSecond < asked) process.exitCode = 1;
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
  process.exitCode = 1;
});
