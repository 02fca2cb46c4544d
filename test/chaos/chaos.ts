import { setTimeout as sleep } from 'node:timers/promises';
import { choiceFlag, numberFlag, processFlags, seedFlag, switchFlag } from '../../examples/support/flags';
import { inArena } from './arena';
import { readEvidence, judge } from './judge/checker';
import type { Harness, Struck } from './harness';
import { planKills } from './plan';
import { PLAIN, POINTS } from './points';
import { outcomeOf, tableOf } from './judge/report';
import { runLaneChaos } from './queuer/run';
import { GROUPING } from './scenario';

/**
 * `npm run test:chaos -- --tasks 10000 --kills 100 --seed 1 [--keep]`: kills everything everywhere
 * while tasks arrive, then counts. `npm run test:chaos -- --scenario queuer --batches 100000
 * --lanes 100 --kills 100 --seed 1`: the same for batches in serial lanes; with `--partitions 16
 * --freezes 50` each lane is served by one node, and nodes are stopped past their leases too; with
 * `--stops 20` ten processes are stopped in a grant and ten right before a call. One JSON line on
 * stdout, a table on stderr; exit 1 if anything was lost, stuck, doubled or disordered, or a kill
 * could not be made.
 */

const flags = processFlags(
  {
    name: 'npm run test:chaos --',
    summary: 'Kills everything everywhere while tasks arrive, then counts.',
    result:
      'One line of JSON on stdout, a table on stderr. Exit code 1 if anything was lost, stuck, doubled or disordered, or a kill could not be made.',
    examples: ['--tasks 1500 --kills 20 --seed 1', '--scenario queuer --batches 10000 --lanes 100 --kills 20'],
  },
  {
    scenario: choiceFlag(['grouping', 'queuer'], 'grouping', 'tasks that become batches, or batches in serial lanes'),
    tasks: numberFlag(10_000, { text: 'of grouping: tasks submitted', min: 1 }),
    batches: numberFlag(100_000, { text: 'of queuer: batches submitted', min: 1 }),
    lanes: numberFlag(100, { text: 'of queuer: lanes', min: 2 }),
    partitions: numberFlag(0, {
      text: 'of queuer: partitions of each handler; 0: any worker serves any lane',
      min: 0,
      max: 1_024,
    }),
    freezes: numberFlag(0, { text: 'of queuer, with partitions: workers stopped past their leases', min: 0 }),
    kills: numberFlag(100, { text: 'kills; 0: nobody is killed' }),
    stops: numberFlag(0, { text: 'of queuer: stops in grants and before calls, after the kills', min: 0 }),
    seed: seedFlag(),
    keep: switchFlag('servers stay up afterwards, until Ctrl-C'),
  },
);

/**
 * Above what a stopped process, a lost task and a mark's deadline may cost together, and a minute
 * on top: a stopped worker that wakes may take the turn of a run that has ended meanwhile, and
 * publish that it waits (60 s) for a dispatch; its lease ends that. And in all.
 */
const STILL_MS = 90_000;
const DRAIN_MS = 300_000;
/** A kill takes about so long until it is known better; the arrivals are spread by it. */
const KILL_MS = 3_000;
/** Tasks a second: victims need work in their hands, and a last kill may be long in coming. */
const LEAST_RATE = 12;
const MOST_RATE = 300;
const log = (line: string): void => void process.stderr.write(`${line}\n`);

/**
 * Kills by the plan while tasks arrive; an entry that finds no victim is tried again at the end,
 * twice at most.
 */
const rampage = async (harness: Harness, tasks: number, kills: number, seed: number): Promise<Struck[]> => {
  const each = Math.ceil(tasks / harness.submitters.length);
  const queue = planKills(kills, seed).map((kill) => ({ kill, tries: 0 }));
  const struck: Struck[] = [];
  const begun = performance.now();
  const pacer = setInterval(() => {
    const killMs = (performance.now() - begun + 3 * KILL_MS) / (struck.length + 3);
    const left = tasks - harness.submitted();
    const rate = Math.min(MOST_RATE, Math.max(LEAST_RATE, left / ((queue.length * killMs) / 1_000 + 1)));
    // Arrivals go on to the last kill: where the tasks run out before it, a few more come.
    harness.pace(rate, Math.max(each, Math.ceil(harness.submitted() / harness.submitters.length) + 100));
  }, 500);
  try {
    for (let entry = queue.shift(); entry !== undefined; entry = queue.shift()) {
      const armed = performance.now();
      const done = await harness.strike(entry.kill);
      if (done !== null) struck.push(done);
      else if (++entry.tries < 3) queue.push(entry);
      const { point, variant } = entry.kill;
      log(
        `${String(struck.length).padStart(4)} ${done === null ? 'missed' : done.how} ` +
          `${point}/${variant} live ${done?.live ?? 0}, ${Math.round(performance.now() - armed)} ms; ` +
          `${harness.submitted()} tasks`,
      );
    }
    clearInterval(pacer);
    // Told again and again: a submitter that was just restarted has not heard it.
    for (; harness.submitted() < tasks; await sleep(200)) harness.pace(MOST_RATE, each);
  } finally {
    clearInterval(pacer);
  }
  harness.pace(0, 0);
  return struck;
};

const main = (): Promise<boolean> => {
  const { tasks, kills, seed, keep } = flags;
  const begun = performance.now();
  return inArena(GROUPING, { seed, keep, log }, async ({ servers, harness, client, runDir }) => {
    const struck = await rampage(harness, tasks, kills, seed);
    const killedFor = performance.now() - begun;
    const drained = await harness.drain(STILL_MS, DRAIN_MS);
    const drainMs = performance.now() - begun - killedFor;
    const acked = [...harness.acked].flatMap(([name, n]) => Array.from({ length: n }, (_, i) => `${name}-${i}`));
    const verdict = judge(
      await readEvidence(servers.databaseUrl, runDir, {
        acked,
        interruptions: harness.interruptions,
        mayPark: [PLAIN],
      }),
    );
    const verified = await client.verify({ full: true });
    const outcome = outcomeOf({
      verdict,
      struck,
      verified,
      drained,
      kills,
      seed,
      crashes: harness.crashes(),
      seconds: (performance.now() - begun) / 1_000,
      drainSeconds: drainMs / 1_000,
    });
    return { outcome, table: tableOf(outcome, POINTS) };
  });
};

const run = (): Promise<boolean> => {
  switch (flags.scenario) {
    case 'grouping':
      return main();
    case 'queuer':
      return runLaneChaos({ ...flags, log });
  }
};

run().then(
  (passed) => process.exit(passed ? 0 : 1),
  (error: unknown) => {
    log(error instanceof Error ? (error.stack ?? error.message) : String(error));
    process.exit(1);
  },
);
