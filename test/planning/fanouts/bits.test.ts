import { getBit } from '../../../workflows/planning/fanouts/bits';

/** D6: bits as Postgres counts them; test/fanouts/bits.test.ts compares the two. */

const BITS = Uint8Array.from([0b0000_0001, 0b1000_0010]);

test('bit i is worth 2 ^ (i % 8) in byte i / 8', () => {
  const set = Array.from({ length: 16 }, (_, i) => i).filter((i) => getBit(BITS, i) === 1);
  expect(set).toEqual([0, 9, 15]);
});

test.each([-1, 16, 0.5, NaN])('there is no bit %d of 16', (index) => {
  expect(() => getBit(BITS, index)).toThrow(`index: expected a whole number from 0 to 15, got ${index}`);
});
