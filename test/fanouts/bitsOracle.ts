/**
 * An oracle for bits.test.ts: `ones`, `put_bits` and `bit_count` of SQL, written once more in
 * TypeScript over the bit order of workflows/planning/fanouts/bits.ts. The product only reads bits;
 * the store alone writes and counts them.
 */

/** Bytes of so many bits. */
export const bytesOf = (size: number): number => (size + 7) >> 3;

/** `size` ones; the unused bits of the last byte are 0. */
export const ones = (size: number): Uint8Array => {
  const bits = new Uint8Array(bytesOf(size)).fill(0xff);
  if (size % 8 !== 0) bits[bits.length - 1] = (1 << (size % 8)) - 1;
  return bits;
};

/** A copy with these bits put to `value` (D12). */
export const putBits = (bits: Uint8Array, indexes: Iterable<number>, value: 0 | 1): Uint8Array => {
  const changed = Uint8Array.from(bits);
  for (const index of indexes) {
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
