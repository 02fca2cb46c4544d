import fc from 'fast-check';
import { mergeEnded } from '../../../client/tasks/list/merge';
import type { EndedBatch, EndedOutcome } from '../../../postgres/listing/ended';

/** Few rows are looked at per part, so that every end of what was looked at is met. */

interface Ended {
  us: number;
  matches: boolean;
}
const ended = fc.record({ us: fc.integer({ min: 0, max: 6 }), matches: fc.boolean() });
const newestFirst = (rows: readonly Ended[]): Ended[] => rows.toSorted((a, b) => b.us - a.us);

test('part by part, everything that matches comes once and newest first, however little is looked at', () => {
  fc.assert(
    fc.property(
      fc.array(ended, { maxLength: 12 }),
      fc.array(
        fc.record({ us: fc.integer({ min: 0, max: 6 }), matches: fc.boolean(), n: fc.integer({ min: 1, max: 4 }) }),
        {
          maxLength: 12,
        },
      ),
      fc.integer({ min: 1, max: 4 }),
      fc.integer({ min: 1, max: 5 }),
      (someOutcomes, someBatches, looked, limit) => {
        const outcomes = newestFirst(someOutcomes).map((one, seq): EndedOutcome => ({ ...one, seq, batchId: null }));
        const batches = newestFirst(someBatches).map((one, id) => ({ n: 1, ...one, id }));
        const found: (EndedOutcome | EndedBatch)[] = [];
        let [o, b, isEnd] = [0, 0, false];
        for (let parts = 0; !isEnd; parts++) {
          expect(parts).toBeLessThanOrEqual(outcomes.length + batches.length);
          const part = <Row>(all: readonly Row[], from: number) => {
            const rows = all.slice(from, from + looked);
            return { rows, hasMore: rows.length === looked };
          };
          const merged = mergeEnded(part(outcomes, o), part(batches, b), limit);
          let tasks = 0;
          for (const step of merged.steps) {
            expect(tasks).toBeLessThan(limit); // nothing is begun beyond it
            const row = 'outcome' in step ? step.outcome : step.batch;
            if ('outcome' in step) o++;
            else b++;
            if (row.matches) {
              found.push(row);
              tasks += 'batch' in step ? step.batch.n : 1;
            }
          }
          ({ isEnd } = merged);
        }
        expect(found.map(({ us }) => us)).toEqual(found.map(({ us }) => us).toSorted((x, y) => y - x));
        expect(new Set(found)).toEqual(new Set([...outcomes, ...batches].filter(({ matches }) => matches)));
        expect(found).toHaveLength(new Set(found).size);
      },
    ),
    { numRuns: 2_000 },
  );
});
