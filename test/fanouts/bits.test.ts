import fc from 'fast-check';
import { getBit } from '../../workflows/planning/fanouts/bits';
import type { TestDatabase } from '../helpers/database';
import { createDatabase } from '../helpers/database';
import { bytesOf, countBits, ones, putBits } from './bitsOracle';

/** D6, D12: one definition of bit order, in TypeScript and in SQL. */

let database: TestDatabase;
beforeAll(async () => {
  database = await createDatabase({ max: 2 });
});
afterAll(() => database.drop());

const sizeAndIndexes = fc.integer({ min: 1, max: 8_000 }).chain((size) =>
  fc.record({
    size: fc.constant(size),
    indexes: fc.array(fc.integer({ min: 0, max: size - 1 }), { minLength: 1, maxLength: 60 }),
  }),
);

test('ones, set, clear, read and count are the same in TypeScript and in SQL [D6 D12]', async () => {
  const compare = async ({ size, indexes }: { size: number; indexes: number[] }): Promise<void> => {
    const { rows } = await database.pool.query<
      Record<'ones' | 'cleared' | 'again', Buffer> & { open: number; bits: number[] }
    >(
      `with b as (select ones($1) as ones, put_bits(ones($1), $2::int[], 0) as cleared)
       select ones, cleared, put_bits(cleared, ($2::int[])[1:1], 1) as again, bit_count(cleared)::int as open,
         (select array_agg(get_bit(cleared, i) order by at) from unnest($2::int[]) with ordinality u (i, at)) as bits from b`,
      [size, indexes],
    );
    const found = rows[0]!;
    const cleared = putBits(ones(size), indexes, 0);
    expect(Buffer.from(ones(size)).equals(found.ones)).toBe(true);
    expect(Buffer.from(cleared).equals(found.cleared)).toBe(true);
    expect(Buffer.from(putBits(cleared, indexes.slice(0, 1), 1)).equals(found.again)).toBe(true);
    expect(countBits(cleared)).toBe(found.open);
    expect(indexes.map((index) => getBit(cleared, index))).toEqual(found.bits);
  };
  await fc.assert(fc.asyncProperty(sizeAndIndexes, compare), { numRuns: 150 });
  for (const size of [1, 7, 8, 9, 64, 7_999, 8_000]) await compare({ size, indexes: [0, size - 1] });
});

test('size 100, set and clear 57; index 0 is an item; the count is of the items alone [D12]', () => {
  const none = putBits(
    ones(100),
    Array.from({ length: 100 }, (_, i) => i),
    0,
  );
  const set = putBits(none, [57], 1);
  expect([getBit(set, 57), getBit(set, 56), getBit(set, 58), countBits(set)]).toEqual([1, 0, 0, 1]);
  expect(countBits(putBits(set, [57], 0))).toBe(0);
  expect(getBit(putBits(none, [0], 1), 0)).toBe(1);
  expect([bytesOf(1), bytesOf(8), bytesOf(9), bytesOf(8_000)]).toEqual([1, 1, 2, 1_000]);
  expect(countBits(ones(13))).toBe(13);
  expect(() => getBit(set, 104)).toThrow('index: expected a whole number from 0 to 103, got 104');
  expect(() => getBit(set, -1)).toThrow(RangeError);
});
