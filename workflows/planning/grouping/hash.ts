const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;
const REPLACEMENT = 0xfffd;

/**
 * Returns the FNV-1a hash of the UTF-8 of `text`, as an unsigned number of 32 bits. The function
 * must never change, because its results are stored. Postgres' `hashtext` may change with a major
 * version, and workflow code has no built-ins of Node. A lone surrogate counts as U+FFFD.
 */
export function stableHash(text: string): number {
  let hash = FNV_OFFSET;
  for (const character of text) {
    for (const byte of utf8(character.codePointAt(0)!)) hash = Math.imul(hash ^ byte, FNV_PRIME);
  }
  return hash >>> 0;
}

/**
 * Returns which of `n` leaders leads `key`: a whole number in [0, n), always the same for the same
 * arguments. The hash is mixed by murmur3's finalizer: the low bits of FNV-1a depend only on the
 * low bits of the bytes, so that keys that end in even digits would use only half of the leaders.
 *
 * @throws RangeError if `n` is not a whole number of at least 1.
 */
export function leaderIndex(key: string, n: number): number {
  if (!Number.isInteger(n) || n < 1) {
    throw new RangeError(`leaders: expected a whole number of at least 1, got ${n}; set it to 'auto' if in doubt`);
  }
  let hash = stableHash(key);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return ((hash ^ (hash >>> 16)) >>> 0) % n;
}

/** Returns how many bytes the UTF-8 of `text` has. */
export function utf8Length(text: string): number {
  let bytes = 0;
  for (const character of text) bytes += utf8(character.codePointAt(0)!).length;
  return bytes;
}

function utf8(codePoint: number): number[] {
  const code = codePoint >= 0xd800 && codePoint <= 0xdfff ? REPLACEMENT : codePoint;
  const tail = (shift: number): number => 0x80 | ((code >> shift) & 0x3f);
  if (code < 0x80) return [code];
  if (code < 0x800) return [0xc0 | (code >> 6), tail(0)];
  if (code < 0x10000) return [0xe0 | (code >> 12), tail(6), tail(0)];
  return [0xf0 | (code >> 18), tail(12), tail(6), tail(0)];
}
