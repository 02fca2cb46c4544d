import path from 'node:path';
import { read, ROOT } from '../project/project';
import type { Mutant, Spot } from './mutants/mutant';
import type { Outcome, WarmJest } from './warmJest';

/** Which tests of a file execute a mutant's place, and how long they take. */
export interface Touching {
  file: string;
  /** null: all of the file. */
  only: readonly string[] | null;
  ms: number;
}

/** Returns the text with a call at each spot that says it was executed. */
export const instrumented = (text: string, spots: readonly { id: number; spot: Spot }[]): string => {
  const insertions = spots.flatMap(({ id, spot: { start, end, isStatement } }) => {
    const [before, after] = isStatement ? [`{mutantHit(${id});`, '}'] : [`(mutantHit(${id}),`, ')'];
    // An outer spot opens first and closes last; of equal ones either may.
    return [
      { at: start, order: [1, -end, id], text: before },
      { at: end, order: [0, -start, -id], text: after },
    ];
  });
  insertions.sort((a, b) => a.at - b.at || compare(a.order, b.order));
  let [done, result] = [0, ''];
  for (const { at, text: insertion } of insertions) {
    result += text.slice(done, at) + insertion;
    done = at;
  }
  return result + text.slice(done);
};
const compare = (a: readonly number[], b: readonly number[]): number => {
  const i = a.findIndex((value, at) => value !== b[at]);
  return i < 0 ? 0 : a[i]! - b[i]!;
};

/** A long run without a mutant is a defect of the tests. */
const DRY_MS = 600_000;

export interface DryRun {
  file: string;
  outcome: Outcome;
}

/** Runs a test file on the product as it is, with the mutants' spots counted. */
export const dryRun = async (jest: WarmJest, file: string, mutants: readonly Mutant[]): Promise<DryRun> => {
  const files = new Map<string, { id: number; spot: Spot }[]>();
  for (const [id, { file: mutatedFile, spot }] of mutants.entries())
    files.set(mutatedFile, [...(files.get(mutatedFile) ?? []), { id, spot }]);
  const swaps = [...files].map(([name, spots]) => ({
    file: path.join(ROOT, name),
    text: instrumented(read(name), spots),
  }));
  const outcome = await jest.run({ file: path.join(ROOT, file), swaps, only: null }, DRY_MS);
  if (outcome === null) throw new Error(`Cannot run ${file}: it does not end.`);
  return { file, outcome };
};

/**
 * Returns what touches each mutant, the quickest first. What is executed when a file is loaded is
 * executed by every test that imports it: of those only the ones count that also execute something
 * of the mutant's file later. `byTest`: a file's other tests are left out, which is right where no
 * test does anything in the background.
 */
export const touchingOf = (mutants: readonly Mutant[], runs: readonly DryRun[], byTest: boolean): Touching[][] => {
  const touching = mutants.map((): Touching[] => []);
  const users = usersOf(mutants, runs);
  for (const { file, outcome } of runs) {
    const loaded = new Set(outcome.hits.filter(({ test }) => test === '').flatMap(({ spots }) => spots));
    const tests = new Map<number, string[]>();
    const times = new Map(outcome.hits.map(({ test, ms }) => [test, ms]));
    const msOf = (only: readonly string[] | null): number =>
      only === null ? outcome.ms : only.reduce((sum, test) => sum + times.get(test)!, outcome.ms - outcome.testsMs);
    for (const { test, spots } of outcome.hits.filter((hit) => hit.test !== ''))
      for (const id of spots) tests.set(id, [...(tests.get(id) ?? []), test]);
    for (const [id, mutant] of mutants.entries()) {
      const isLoaded = loaded.has(id);
      const only = tests.get(id);
      if (!isLoaded && only === undefined) continue;
      const ofUsers = users.get(mutant.file);
      if (only === undefined && ofUsers !== undefined && !ofUsers.has(file)) continue;
      const chosen = byTest && !isLoaded ? only! : null;
      touching[id]!.push({ file, only: chosen, ms: msOf(chosen) });
    }
  }
  return touching.map((ones) => ones.sort((a, b) => a.ms - b.ms));
};

/** Test files that execute something of a file after it was loaded, by that file. */
const usersOf = (mutants: readonly Mutant[], runs: readonly DryRun[]): Map<string, Set<string>> => {
  const users = new Map<string, Set<string>>();
  for (const { file, outcome } of runs)
    for (const { test, spots } of outcome.hits)
      if (test !== '')
        for (const id of spots) {
          const name = mutants[id]!.file;
          users.set(name, (users.get(name) ?? new Set()).add(file));
        }
  return users;
};
