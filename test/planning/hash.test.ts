import fc from 'fast-check';
import { leaderIndex, stableHash, utf8Length } from '../../workflows/planning/grouping/hash';

describe('stableHash: FNV-1a, 32 bits, over UTF-8', () => {
  /** The first four are of the reference implementation; all were computed apart from this code. */
  test.each([
    ['', 0x811c9dc5],
    ['a', 0xe40c292c],
    ['b', 0xe70c2de5],
    ['foobar', 0xbf9cf968],
    ['tenant-1', 0x4332af8b],
    ['é', 0x1e9de8c1],
    ['日本', 0x9f26ee51],
    ['🎻', 0x3ed72e53],
  ])('%j never changes', (text, hash) => {
    expect(stableHash(text)).toBe(hash);
  });

  test('agrees with an encoder on any text, lone surrogates included', () => {
    const unit = fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code));
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: 'grapheme' }), fc.string({ unit })), (text) => {
        let hash = 0x811c9dc5;
        for (const byte of new TextEncoder().encode(text)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
        expect(stableHash(text)).toBe(hash);
      }),
    );
  });
});

test.each([
  ['\u007f', 1],
  ['\u0080', 2],
  ['\u07ff', 2],
  ['\u0800', 3],
  ['\ud7ff', 3],
  ['\ud800', 3],
  ['\udfff', 3],
  ['\ue000', 3],
  ['\uffff', 3],
  ['\u{10000}', 4],
  ['', 0],
  ['aé日🎻', 10],
])('%j has %d bytes, those of an encoder', (text, bytes) => {
  expect(utf8Length(text)).toBe(bytes);
  let hash = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(text)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  expect(stableHash(text)).toBe(hash);
});

describe('leaderIndex', () => {
  test('never changes: the choice is stored with the target', () => {
    const keys = ['', 'a', 'foobar', 'tenant-1', 'tenant-2', '日本'];
    expect(keys.map((key) => leaderIndex(key, 4))).toEqual([3, 3, 0, 3, 0, 3]);
    expect(keys.map((key) => leaderIndex(key, 1_000))).toEqual([923, 715, 276, 711, 764, 135]);
  });

  test('the index is in [0, n)', () => {
    fc.assert(
      fc.property(fc.string(), fc.integer({ min: 1, max: 1_000 }), (key, n) => {
        const index = leaderIndex(key, n);
        expect(Number.isInteger(index) && index >= 0 && index < n).toBe(true);
      }),
    );
  });

  test.each([
    ['consecutive ids', (at: number) => `tenant-${at}`],
    ['even ids', (at: number) => `tenant-${at * 2}`],
    ['multiples of eight', (at: number) => String(at * 8)],
    ['one letter over', (at: number) => `${String.fromCharCode(65 + (at % 26))}-${at}`],
  ])('spreads %s evenly over 4 and 7 leaders', (_, keyOf) => {
    for (const n of [4, 7]) {
      const counts = Array<number>(n).fill(0);
      for (let at = 0; at < 10_000; at++) counts[leaderIndex(keyOf(at), n)]! += 1;
      // Within 10 % of even: about five standard deviations for 7 leaders.
      for (const count of counts) expect(Math.abs(count - 10_000 / n)).toBeLessThan(1_000 / n);
    }
  });

  test.each([0, -1, 1.5, NaN, Infinity])('refuses %d leaders', (n) => {
    expect(() => leaderIndex('a', n)).toThrow(/leaders: expected a whole number of at least 1, got/);
  });
});
