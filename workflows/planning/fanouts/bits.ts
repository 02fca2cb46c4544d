/**
 * The bits of a segment, as the store keeps them: bit i is worth 2 ^ (i % 8) in byte i / 8, as for
 * Postgres' `get_bit` and `set_bit` (test/fanouts/bits.test.ts compares the two). 1 means not
 * acked; unused bits are 0.
 */

/**
 * Returns the bit at `index`.
 *
 * @throws RangeError for an index outside of the bytes.
 */
export const getBit = (bits: Uint8Array, index: number): 0 | 1 => {
  if (!Number.isInteger(index) || index < 0 || index >= bits.length * 8)
    throw new RangeError(`index: expected a whole number from 0 to ${bits.length * 8 - 1}, got ${index}`);
  return ((bits[index >> 3]! >> (index & 7)) & 1) as 0 | 1;
};
