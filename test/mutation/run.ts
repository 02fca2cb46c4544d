import { availableParallelism } from 'node:os';
import { numberFlag, processFlags, seedFlag, switchFlag, textFlag } from '../../examples/support/flags';
import { progressBar } from '../../client/cli/support/progress';
import globalSetup from '../helpers/global-setup';
import globalTeardown from '../helpers/global-teardown';
import { changedSince, folderOf, FOLDERS, mutantsBelow, testsOf } from './folders';
import { measure } from './measure';
import type { Mutant } from './mutants/mutant';
import { sampleOf } from './sample';
import { lineOf, readScores, scoreOf, survivorsOf, withFolder, writeScores } from './scores';
import { readJestConfig, WarmJest } from './warmJest';

/** More of them wait for one another at the servers, and each takes a gigabyte. */
const MOST_PARALLEL = 4;

/** `npm run mutants -- --folder workflows/planning`: which small defects the tests do not see. */
const names = FOLDERS.map(({ name }) => name).join(', ');
const flags = processFlags(
  {
    name: 'npm run mutants --',
    summary: 'Plants small defects one at a time and counts those that the tests which touch them see.',
    result: 'The score, and each survivor. Exit code 1 if it could not be measured, or is below --least.',
    examples: ['', '--folder workflows/planning/lanes --sample 50 --seed 1', '--folder postgres --changed main'],
  },
  {
    folder: textFlag('workflows/planning', { text: `what is mutated: ${names}, or a path below one`, as: 'path' }),
    sample: numberFlag(undefined, { text: 'mutants, chosen by chance', min: 1, unset: 'all' }),
    seed: seedFlag(1),
    changed: textFlag(undefined, {
      text: 'files that differ from this commit; a sample has them first',
      as: 'ref',
      unset: 'all files',
    }),
    least: numberFlag(0, { text: 'the score that is demanded', min: 0, max: 100, unit: 'percent' }),
    tests: numberFlag(5, { text: 'test files per mutant, with servers', min: 1 }),
    dry: numberFlag(600, { text: 'for finding the tests that touch a mutant, with servers, in seconds', unit: 's' }),
    parallel: numberFlag(Math.max(1, Math.min(availableParallelism(), MOST_PARALLEL)), {
      text: 'test files at once',
      min: 1,
    }),
    keep: switchFlag('keeps the result in test/mutation/scores.json; of a whole folder only'),
    json: switchFlag('one line of JSON per mutant on stdout'),
  },
);

/** With a sample, what did not change fills it up: a score of a few mutants says nothing. */
const chosenOf = (all: readonly Mutant[], changed: ReadonlySet<string> | null): Mutant[] => {
  const first = all.filter(({ file }) => changed?.has(file) ?? true);
  if (flags.sample === undefined) return first;
  const rest = all.filter((one) => !first.includes(one));
  const chosen = sampleOf(first, flags.sample, flags.seed);
  return [...chosen, ...sampleOf(rest, flags.sample - chosen.length, flags.seed)];
};

const say = (line: string): void => void process.stderr.write(`${line}\n`);

const main = async (): Promise<void> => {
  const path = flags.folder.replace(/\/$/, '');
  const folder = folderOf(path);
  if (folder === undefined) throw new Error(`Cannot mutate ${path}: it is in none of ${names}. Name one of them.`);
  if (flags.keep && (path !== folder.name || flags.changed !== undefined))
    throw new Error(`Cannot keep the score of a part of ${folder.name}. Leave out --keep, or name the folder.`);
  const changed = flags.changed === undefined ? null : changedSince(flags.changed);
  if (flags.changed !== undefined && changed === null) say(`${flags.changed} is not in this clone: all files`);
  const all = mutantsBelow(path);
  const mutants = chosenOf(all, changed);
  say(`${path}: ${mutants.length} of ${all.length} mutants`);
  if (mutants.length === 0) return;
  if (folder.hasServers) await globalSetup();
  const config = await readJestConfig(folder.jestConfig);
  const jests = Array.from({ length: flags.parallel }, () => new WarmJest(config));
  let bar = progressBar(process.stderr, 'tests', 0, 'files');
  try {
    const judged = await measure(
      jests,
      { folder, mutants, tests: testsOf(folder, mutants), most: flags.tests, dryMs: flags.dry * 1_000 },
      {
        phase: (what, total) => {
          bar.stop();
          bar = progressBar(process.stderr, what, total, '');
        },
        done: (n) => bar.update(n),
        judged: (one) => {
          if (flags.json) process.stdout.write(`${JSON.stringify({ ...one, failure: one.failure?.slice(0, 300) })}\n`);
        },
      },
    );
    bar.stop();
    const of = flags.sample === undefined ? 'all' : `--sample ${flags.sample} --seed ${flags.seed}`;
    const score = scoreOf(judged, of);
    if (flags.keep) writeScores(withFolder(readScores(), folder.name, score, judged));
    const out = flags.json ? say : (line: string): void => void process.stdout.write(`${line}\n`);
    for (const one of survivorsOf(judged)) out(lineOf(one));
    out(`${path}: ${score.score} % of ${score.mutants} mutants (${JSON.stringify(score)})`);
    if (score.score < flags.least) {
      say(`Cannot pass: expected ${flags.least} % or more. Add the assertions that see these mutants.`);
      process.exitCode = 1;
    }
  } finally {
    bar.stop();
    await Promise.all(jests.map((jest) => jest.stop()));
    if (folder.hasServers) await globalTeardown();
  }
};

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
