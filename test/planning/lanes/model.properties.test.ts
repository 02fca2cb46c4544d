import fc from 'fast-check';
import type { LaneBatchStatus } from '../../../workflows/planning/lanes/statuses';
import { queuerProperty } from './model/property';
import { REAL } from './model/simulation';

/**
 * `QUEUER_SEED=<the seed that a failure printed>` repeats a run with its shrinking; `QUEUER_RUNS`
 * makes it longer.
 */
const seed = Number(process.env['QUEUER_SEED'] ?? Date.now() % 2 ** 31);
const numRuns = Number(process.env['QUEUER_RUNS'] ?? 10_000);

test('whatever happens, order, conflicts and ends hold (10,000 runs of the model) [C1 C9 G9 C10 C11 C17 C18 C25 C28]', () => {
  const entered = new Map<LaneBatchStatus, number>();
  let [runs, batches] = [0, 0];
  const count = queuerProperty(REAL, (simulation) => {
    runs++;
    batches += simulation.batches.length;
    for (const [status, times] of simulation.entered) entered.set(status, (entered.get(status) ?? 0) + times);
  });
  fc.assert(count, { numRuns, seed });
  if (runs < numRuns) return; // `npm run mutants` makes few, in which what is rare need not occur
  // The runs meet what they are about: every status often, and more than a batch or two.
  expect(batches / numRuns).toBeGreaterThan(2);
  for (const status of ['unsubmitted', 'delayed', 'unknown', 'submitted', 'pending', 'valid', 'parked'] as const)
    expect([status, (entered.get(status) ?? 0) > numRuns / 100]).toEqual([status, true]);
  for (const status of ['committed', 'invalid', 'failed-dependency', 'cancelled'] as const)
    expect([status, (entered.get(status) ?? 0) > numRuns / 20]).toEqual([status, true]);
  expect(entered.get('skipped')).toBeGreaterThan(0);
});
