import path from 'node:path';
import { parseArgs } from 'node:util';
import type { BenchCase } from './cases';
import { CASES, scaled } from './cases';
import { tableOf } from './report';
import type { CaseResult } from './result';
import { resultOf } from './result';
import type { RunMeasure } from './run';
import { measureRun } from './run';
import type { Servers } from './servers';
import { startServers } from './servers';
import { openSides } from './sides';
import { resetStatements, writeStatements } from './statements';

const USAGE = `npm run bench -- [--case NAME]... [--tasks N] [--runs N] [--short] [--profile DIR]
  Muster against hand-written SQL (DESIGN section 7), in turns; one JSON line a case on stdout, a table on stderr.
  --case     one of ${CASES.map(({ name }) => name).join(', ')}; default all
  --tasks    fewer tasks (and targets in proportion)
  --runs     runs of each side; medians are of these. Default 3
  --short    a tenth of every case, one run
  --profile  write CPU profiles of Muster's worker and client, and the time of every statement, there`;

interface Flags {
  cases: BenchCase[];
  runs: number;
  profile?: string;
}

const whole = (name: string, text: string): number => {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1)
    throw new Error(`--${name}: expected a whole number from 1 on, got ${text}`);
  return value;
};

const readFlags = (): Flags | null => {
  const string = { type: 'string' } as const;
  const { values } = parseArgs({
    options: {
      case: { ...string, multiple: true },
      tasks: string,
      runs: string,
      profile: string,
      short: { type: 'boolean' },
      help: { type: 'boolean', short: 'h' },
    },
  });
  if (values.help === true) return null;
  const names = values.case ?? CASES.map(({ name }) => name);
  const chosen = names.map((name) => {
    const found = CASES.find((one) => one.name === name);
    if (found === undefined)
      throw new Error(`--case: expected one of ${CASES.map((one) => one.name).join(', ')}, got ${name}`);
    const tasks =
      values.tasks !== undefined
        ? whole('tasks', values.tasks)
        : values.short === true
          ? found.tasks / 10
          : found.tasks;
    return scaled(found, tasks);
  });
  const runs = values.runs !== undefined ? whole('runs', values.runs) : values.short === true ? 1 : 3;
  return { cases: chosen, runs, ...(values.profile === undefined ? {} : { profile: values.profile }) };
};

const say = (line: string): void => void process.stderr.write(`${line}\n`);

/** So many tasks warm each side up: compiled code, prepared statements, open connections. */
const WARM_UP = { tasks: 5_000, targets: 50 };

/** Sides in turns, run by run: what else the machine does meets them alike. */
const benchOne = async (servers: Servers, benchCase: BenchCase, flags: Flags): Promise<CaseResult> => {
  const profile = flags.profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${flags.profile}`];
  const sides = await openSides(servers, benchCase, profile);
  try {
    const warmUp = { ...benchCase, tasks: Math.min(WARM_UP.tasks, benchCase.tasks), targets: Math.min(WARM_UP.targets, benchCase.targets), ...(benchCase.overMs === undefined ? {} : { overMs: 500 }) }; // prettier-ignore
    for (const side of sides.all) await measureRun(servers, side, warmUp, `warm${sides.all.indexOf(side)}`);
    if (flags.profile !== undefined) await resetStatements(sides.all);
    const runs = new Map<string, RunMeasure[]>(sides.all.map(({ name }) => [name, []]));
    for (let i = 1; i <= flags.runs; i++) {
      for (const side of sides.all) {
        const measure = await measureRun(servers, side, benchCase, `r${i}`);
        runs.get(side.name)!.push(measure);
        say(
          `${benchCase.name}, run ${i} of ${flags.runs}: ${side.name} ${measure.seconds.toFixed(2)} s (submitted after ${measure.submitSeconds.toFixed(2)} s), ${measure.calls} calls`,
        );
      }
    }
    if (flags.profile !== undefined)
      await writeStatements(sides.all, path.join(flags.profile, `${benchCase.name}.statements.json`));
    return resultOf(benchCase, runs);
  } finally {
    await sides.stop();
  }
};

const main = async (): Promise<void> => {
  const flags = readFlags();
  if (flags === null) return say(USAGE);
  const servers = await startServers(flags.profile !== undefined);
  try {
    const results: CaseResult[] = [];
    for (const benchCase of flags.cases) {
      results.push(await benchOne(servers, benchCase, flags));
      process.stdout.write(`${JSON.stringify(results.at(-1))}\n`);
    }
    say(tableOf(flags.cases, results));
  } finally {
    await servers.stop();
  }
};

main().catch((error: unknown) => {
  say(error instanceof Error ? (error.stack ?? error.message) : String(error));
  process.exitCode = 1;
});
