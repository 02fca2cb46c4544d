import fc from 'fast-check';
import { commonPiece, NORMALISED_MAX, normaliseError } from '../../../workflows/planning/errors/normalise';
import { cpuMs } from '../../helpers/machine/cpuMs';

/** What differs from one error to the next is replaced; what says which error it is stays. */

test.each([
  ['timeout after 3000 ms', 'timeout after <n> ms'],
  ['order 17: no such order', 'order <n>: no such order'],
  ['order17 is gone', 'order<n> is gone'],
  ['took 1,234.5 s', 'took <n> s'],
  ['HTTP 503 for order 503', 'HTTP 503 for order <n>'],
  ['HTTP 5031', 'HTTP <n>'],
  ['Request failed with status code 404', 'Request failed with status code 404'],
  ['status: 429, retry in 30', 'status: 429, retry in <n>'],
  ['connect ECONNREFUSED 127.0.0.1:9', 'connect ECONNREFUSED <n>:<n>'],
  ['no 3f2504e0-4f89-41d3-9a0c-0305e82c3301 here', 'no <uuid> here'],
  ['at 0xDEADBEEF', 'at <hex>'],
  ['commit 9fceb02d0ae598e95dc970b74767f19372d61af8', 'commit <hex>'],
  ['a faceless facade', 'a faceless facade'],
  ['id 12345678', 'id <n>'],
  ['GET https://a.example/b?c=1 failed', 'GET <url> failed'],
  ['see <http://a.example/1>', 'see <<url>>'],
  ['unknown key "a \\" b"', 'unknown key <str>'],
  ["no column 'x1' of `y`", 'no column <str> of <str>'],
  ["can't read it, doesn't exist", "can't read it, doesn't exist"],
  ['since 2030-01-31T12:00:00.123Z', 'since <time>'],
  ['since 2030-01-31 12:00:00+0100', 'since <time>'],
  ['on 2030-01-31 at 12:00:01', 'on <time> at <time>'],
  ['"2030-01-31": 5', '<str>: <n>'],
  ["5'a'", '<n><str>'],
  ['already <n> and <uuid>', 'already <n> and <uuid>'],
  ['', ''],
])('%j becomes %j', (text, expected) => {
  expect(normaliseError(text)).toBe(expected);
});

/** Texts as errors are, and as they are not: pieces that meet in every way. */
const PIECES = ["'", '"', '`', '<', '>', '://', 'http', 'status ', '404', '5', '-', ':', 'a', 'f00d', '.', ' ', '\n'];
const texts = fc.oneof(
  fc.string({ maxLength: 400 }),
  fc
    .array(fc.oneof(fc.constantFrom(...PIECES), fc.uuid(), fc.webUrl(), fc.string()), { maxLength: 200 })
    .map((some) => some.join('')),
);

test('what was normalised stays as it is, and is no longer than it may be', () => {
  fc.assert(
    fc.property(texts, (text) => {
      const once = normaliseError(text);
      expect(once.length).toBeLessThanOrEqual(NORMALISED_MAX);
      expect(normaliseError(once)).toBe(once);
    }),
    { numRuns: 2_000 },
  );
});

test('a cut that ends a quoted text does not leave it in', () => {
  const text = `'${'x'.repeat(NORMALISED_MAX - 2)}'y, and more`;
  expect(normaliseError(text)).toBe('<str>');
});

test('the common piece of a text stands in each error of its group', () => {
  fc.assert(
    fc.property(texts, (text) => {
      const piece = commonPiece(normaliseError(text));
      expect(piece === null || text.includes(piece)).toBe(true);
    }),
    { numRuns: 2_000 },
  );
  expect(commonPiece(normaliseError('order 17: no such customer "x"'))).toBe(': no such customer');
  expect(commonPiece(normaliseError('12 34'))).toBe(null);
  expect([commonPiece('<n> gone'), commonPiece('<n> out')]).toEqual(['gone', null]);
  expect(commonPiece('gone <n> lost')).toBe('gone'); // of two, the first
});

test('a long text takes no longer than a short one', () => {
  const pieces = ["'", '"', '`a', 'a1', '1.', 'deadbeef', 'a://', '\\"', '2030-01-'];
  const work = (): void => pieces.forEach((piece) => normaliseError(piece.repeat(1_000_000)));
  expect(cpuMs(work)).toBeLessThan(1_000);
});
