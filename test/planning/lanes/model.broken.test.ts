import fc from 'fast-check';
import { BROKEN } from './model/broken';
import { queuerProperty } from './model/property';

/**
 * The invariants see what they are for: each of these planners has one bug. The seed is fixed, so
 * that the test is.
 */
describe('the model catches a planner in which', () => {
  test.each(BROKEN)('$bug', ({ planner, breaks }) => {
    const run = fc.check(queuerProperty(planner), { numRuns: 5_000, seed: 4, endOnFailure: true });
    expect(String(run.errorInstance)).toMatch(breaks);
  });
});
