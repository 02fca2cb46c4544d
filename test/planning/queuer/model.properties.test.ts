import fc from 'fast-check';
import { REAL } from './model/simulation';
import { queuerProperty } from './model/property';

/** `QUEUER_SEED=<the seed that a failure printed>` repeats a run with its shrinking; `QUEUER_RUNS` makes it longer. */
const seed = Number(process.env['QUEUER_SEED'] ?? Date.now() % 2 ** 31);
const numRuns = Number(process.env['QUEUER_RUNS'] ?? 10_000);

test('C1, C9, C10, C11, C17, C18, C25, C28: whatever happens, order, conflicts and ends hold (10,000 runs of the model)', () => {
  fc.assert(queuerProperty(REAL), { numRuns, seed, verbose: 0 });
});
