/**
 * The bits of a segment, as the store keeps them (D6): bit i is worth 2 ^ (i % 8) in byte i / 8
 * (Postgres counts the bits of a bytea the same way: `get_bit`, `set_bit`), 1 means not acked,
 * unused bits are 0. test/fanouts/bits.test.ts compares the two.
 */

/** Bytes of so many bits. */
export const bytesOf = (size: number): number => (size + 7) >> 3;

/** `size` ones; the unused bits of the last byte are 0. */
export const ones = (size: number): Uint8Array => {
  const bits = new Uint8Array(bytesOf(size)).fill(0xff);
  if (size % 8 !== 0) bits[bits.length - 1] = (1 << (size % 8)) - 1;
  return bits;
};

/** @throws RangeError for an index outside of the bytes (D8). */
export const getBit = (bits: Uint8Array, index: number): 0 | 1 => {
  checkIndex(bits, index);
  return ((bits[index >> 3]! >> (index & 7)) & 1) as 0 | 1;
};

/** A copy with these bits put to `value` (D12). @throws RangeError as `getBit`. */
export const putBits = (bits: Uint8Array, indexes: Iterable<number>, value: 0 | 1): Uint8Array => {
  const changed = Uint8Array.from(bits);
  for (const index of indexes) {
    checkIndex(bits, index);
    const mask = 1 << (index & 7);
    changed[index >> 3] = value === 1 ? changed[index >> 3]! | mask : changed[index >> 3]! & ~mask;
  }
  return changed;
};

/** How many are 1. */
export const countBits = (bits: Uint8Array): number => {
  let count = 0;
  for (let byte of bits) for (; byte !== 0; byte &= byte - 1) count++;
  return count;
};

const checkIndex = (bits: Uint8Array, index: number): void => {
  if (!Number.isInteger(index) || index < 0 || index >= bits.length * 8)
    throw new RangeError(`index: expected a whole number from 0 to ${bits.length * 8 - 1}, got ${index}`);
};
