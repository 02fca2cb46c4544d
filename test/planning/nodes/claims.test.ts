import fc from 'fast-check';
import type { Claim } from '../../../workflows/planning/nodes/claims';
import { claims } from '../../../workflows/planning/nodes/claims';

const claim = (partition: string, node: string, epoch: number, ageMs = 0): Claim => ({ partition, node, epoch, ageMs });
const limits = { leaseMs: 1_000 };
const who = (rows: readonly Claim[], options: Parameters<typeof claims>[1] = limits) =>
  Object.fromEntries([...claims(rows, options).holders].map(([partition, { node }]) => [partition, node]));

test('same partition claimed by two: the higher epoch wins', () => {
  const { holders, claimedTwice, stale } = claims([claim('0', 'a', 1), claim('0', 'b', 2), claim('1', 'a', 1)], limits);
  expect([...holders.values()]).toEqual([claim('0', 'b', 2), claim('1', 'a', 1)]);
  expect(claimedTwice).toEqual([]);
  expect(stale).toEqual([claim('0', 'a', 1)]);
});

test('same epoch: both lose it, also where a third one has a lower epoch', () => {
  const { holders, claimedTwice, stale } = claims([claim('0', 'a', 2), claim('0', 'b', 2), claim('0', 'c', 1)], limits);
  expect(holders.size).toBe(0);
  expect(claimedTwice).toEqual(['0']);
  expect(stale).toEqual([claim('0', 'c', 1)]);
});

test('one node that says it twice holds it', () => {
  expect(who([claim('0', 'a', 2, 5), claim('0', 'a', 2)])).toEqual({ 0: 'a' });
  expect(claims([claim('0', 'a', 2, 5), claim('0', 'a', 2)], limits).claimedTwice).toEqual([]);
});

test('stale claims are ignored: too old, or of an epoch that is not the stored one', () => {
  expect(who([claim('0', 'a', 9, 1_001), claim('0', 'b', 1, 1_000)])).toEqual({ 0: 'b' });
  expect(who([claim('0', 'a', 2, 1_001), claim('0', 'b', 2)])).toEqual({ 0: 'b' });
  const epochs = new Map([['0', 3]]);
  expect(
    who([claim('0', 'a', 2), claim('0', 'b', 3), claim('0', 'c', 4), claim('1', 'd', 1)], { ...limits, epochs }),
  ).toEqual({ 0: 'b', 1: 'd' });
});

test('the order of the rows is irrelevant, and nobody is lost: each claim holds, is stale or is one of two', () => {
  const any = fc.record({
    partition: fc.constantFrom('0', '1'),
    node: fc.constantFrom('a', 'b', 'c'),
    epoch: fc.nat(2),
    ageMs: fc.constantFrom(0, 1_001),
  });
  fc.assert(
    fc.property(fc.array(any, { maxLength: 8 }), (rows) => {
      const found = claims(rows, limits);
      const backwards = claims([...rows].reverse(), limits);
      expect(backwards).toEqual(found);
      for (const [partition, { node, epoch }] of found.holders) {
        const rivals = rows.filter((row) => row.partition === partition && row.ageMs <= 1_000 && row.node !== node);
        expect(rivals.every((rival) => rival.epoch < epoch)).toBe(true);
        expect(found.claimedTwice).not.toContain(partition);
      }
      for (const row of rows)
        if (row.ageMs <= 1_000)
          expect(found.holders.has(row.partition) !== found.claimedTwice.includes(row.partition)).toBe(true);
    }),
    { numRuns: 500 },
  );
});
