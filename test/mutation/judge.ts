import path from 'node:path';
import { read, ROOT } from '../project/project';
import type { Touching } from './coverage';
import type { Mutant } from './mutants/mutant';
import { mutated } from './mutants/mutant';
import type { WarmJest } from './warmJest';

/**
 * `untouched`: no test executes it. `endless`: with it a test does not end, which is seen.
 * `invalid`: it is no program, and counts for nothing.
 */
export type Verdict = 'killed' | 'endless' | 'survived' | 'untouched' | 'invalid';

export interface Judged {
  mutant: Mutant;
  verdict: Verdict;
  /** The test file that saw it. */
  by?: string;
  failure?: string;
}

/** How much longer than without the mutant, on a machine that may be busier now. */
const limitOf = (ms: number): number => 15_000 + 6 * ms;

/** Runs the tests that touch the mutant until one fails. */
export const judge = async (jest: WarmJest, mutant: Mutant, touching: readonly Touching[]): Promise<Judged> => {
  if (touching.length === 0) return { mutant, verdict: 'untouched' };
  const swaps = [{ file: path.join(ROOT, mutant.file), text: mutated(read(mutant.file), mutant) }];
  for (const { file, only, ms } of touching) {
    const outcome = await jest.run({ file: path.join(ROOT, file), swaps, only }, limitOf(ms));
    if (outcome === null) return { mutant, verdict: 'endless', by: file };
    if (outcome.isInvalid === true) return { mutant, verdict: 'invalid' };
    if (outcome.hasFailed) return { mutant, verdict: 'killed', by: file, failure: outcome.failure ?? '' };
  }
  return { mutant, verdict: 'survived' };
};
