import path from 'node:path';
import { choicesFlag, numberFlag, processFlags, switchFlag, textFlag } from '../../examples/support/flags';
import type { BenchCase } from './cases';
import { CASES, scaled } from './cases';
import { tableOf } from './report/report';
import type { CaseResult } from './report/result';
import { resultOf } from './report/result';
import type { RunMeasure } from './run';
import { measureRun } from './run';
import type { Servers } from './rig/servers';
import { startServers } from './rig/servers';
import type { Side } from './sides';
import { openSides } from './sides';
import { resetStatements, writeStatements } from './statements';

const flags = processFlags(
  {
    name: 'npm run bench --',
    summary: 'Muster against hand-written SQL, in turns.',
    result: 'One line of JSON a case on stdout, a table on stderr. Exit code 1 if it could not be measured.',
    examples: ['--short', '--case backlog --case live --runs 5'],
  },
  {
    case: choicesFlag(
      CASES.map(({ name }) => name),
      'what is measured',
    ),
    tasks: numberFlag(undefined, {
      text: 'tasks of each case; with fewer of them fewer targets',
      min: 1,
      unset: 'what the case has',
    }),
    runs: numberFlag(undefined, {
      text: 'runs of each side; medians are of these',
      min: 1,
      unset: '3, with --short 1',
    }),
    short: switchFlag('a tenth of every case, one run'),
    profile: textFlag(undefined, {
      text: "write CPU profiles of Muster's worker and client, and the time of every statement, there",
      as: 'dir',
      unset: 'none are written',
    }),
  },
);
const runs = flags.runs ?? (flags.short ? 1 : 3);
const chosen = flags.case.map((name) => {
  const one = CASES.find((found) => found.name === name)!;
  return scaled(one, flags.tasks ?? (flags.short ? one.tasks / 10 : one.tasks));
});

const say = (line: string): void => void process.stderr.write(`${line}\n`);

/**
 * At most so many tasks warm a side up at a time: compiled code, prepared statements, open
 * connections. With a tenth of them the first counted run of Muster's processes, which compiled
 * while it ran, took 1.5 times the processor time of the next.
 */
const WARM_UP = { tasks: 50_000, overMs: 2_000 };

/** The floors share one pair of processes: Muster's are warmed as often as theirs. */
const warmUpsOf = (side: Side, all: readonly Side[]): number => {
  const sharing = ({ worker }: Side): number => all.filter((other) => other.worker === worker).length;
  return Math.max(...all.map(sharing)) / sharing(side);
};

/** Sides in turns, run by run: what else the machine does meets them alike. */
const benchOne = async (servers: Servers, benchCase: BenchCase): Promise<CaseResult> => {
  const profile = flags.profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${flags.profile}`];
  const sides = await openSides(servers, benchCase, profile);
  try {
    const warmUp = {
      ...benchCase,
      tasks: Math.min(WARM_UP.tasks, benchCase.tasks),
      ...(benchCase.overMs === undefined ? {} : { overMs: WARM_UP.overMs }),
    };
    for (const side of sides.all)
      for (let i = 1; i <= warmUpsOf(side, sides.all); i++)
        await measureRun(servers, side, warmUp, `warm-${side.name}-${i}`);
    if (flags.profile !== undefined) await resetStatements(sides.all);
    const measured = new Map<string, RunMeasure[]>(sides.all.map(({ name }) => [name, []]));
    for (let i = 1; i <= runs; i++) {
      for (const side of sides.all) {
        const measure = await measureRun(servers, side, benchCase, `r${i}`);
        measured.get(side.name)!.push(measure);
        say(
          `${benchCase.name}, run ${i} of ${runs}: ${side.name} ${measure.seconds.toFixed(2)} s (submitted after ${measure.submitSeconds.toFixed(2)} s), ${measure.calls} calls`,
        );
      }
    }
    if (flags.profile !== undefined)
      await writeStatements(sides.all, path.join(flags.profile, `${benchCase.name}.statements.json`));
    return resultOf(benchCase, measured);
  } finally {
    await sides.stop();
  }
};

const main = async (): Promise<void> => {
  const servers = await startServers(flags.profile !== undefined);
  try {
    const results: CaseResult[] = [];
    for (const benchCase of chosen) {
      results.push(await benchOne(servers, benchCase));
      process.stdout.write(`${JSON.stringify(results.at(-1))}\n`);
    }
    say(tableOf(chosen, results));
  } finally {
    await servers.stop();
  }
};

main().catch((error: unknown) => {
  say(error instanceof Error ? (error.stack ?? error.message) : String(error));
  process.exitCode = 1;
});
