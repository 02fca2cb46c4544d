import fc from 'fast-check';
import { mergeEnded, mergeWaiting } from '../../../client/tasks/list/merge';
import type { EndedBatch, EndedOutcome } from '../../../postgres/listing/ended';

/** Few rows are looked at per part, so that every end of what was looked at is met. @slow */

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

test.each(['newest', 'oldest'] as const)('%s first, waiting tasks of all places come once and in order', (order) => {
  const places = fc.array(fc.array(fc.record({ seq: fc.integer({ min: 1, max: 60 }), matches: fc.boolean() })), {
    minLength: 1,
    maxLength: 3,
  });
  const sizes = fc.integer({ min: 1, max: 5 });
  fc.assert(
    fc.property(places, sizes, sizes, (given, looked, limit) => {
      const seen = new Set<number>();
      const isBefore = (a: number, b: number): boolean => (order === 'newest' ? a > b : a < b);
      // A task is in one place.
      const lists = given.map((rows) =>
        rows.filter(({ seq }) => !seen.has(seq) && seen.add(seq)).toSorted((a, b) => (isBefore(a.seq, b.seq) ? -1 : 1)),
      );
      const all = lists.flat().filter(({ matches }) => matches);
      const expected = all.map(({ seq }) => seq).toSorted((a, b) => (isBefore(a, b) ? -1 : 1));
      const found: number[] = [];
      let place: number | null = order === 'newest' ? 100 : 0;
      for (let parts = 0; place !== null; parts++) {
        expect(parts).toBeLessThanOrEqual(seen.size);
        const from: number = place;
        const pages = lists.map((rows) => {
          const page = rows.filter(({ seq }) => isBefore(from, seq)).slice(0, looked);
          return { rows: page, hasMore: page.length === looked };
        });
        const merged = mergeWaiting(pages, order, limit);
        expect(merged.seqs.length).toBeLessThanOrEqual(limit);
        found.push(...merged.seqs);
        place = merged.next;
      }
      expect(found).toEqual(expected);
    }),
    { numRuns: 1_000 },
  );
});
