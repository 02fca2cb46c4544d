import fc from 'fast-check';
import { callbackFault, storedCallback, URL_MAX } from '../../../workflows/planning/callbacks/address';

/** A callback's URL as it is stored: it leads where it led, and its host has one spelling. */

const stored = (url: string): string => storedCallback({ url })['url']!;

test.each([
  ['https://h/ü 1?a=/b#c', 'https://h/ü 1?a=/b#c'],
  ['https://H:443/X', 'https://h/X'],
  ['http://h:0080?x', 'http://h?x'],
  ['http://h:443#x', 'http://h:443#x'],
  ['https://h\\1/x', 'https://h\\1/x'],
  ['https://h\t\n:8443\r/x', 'https://h:8443/x'],
  ['https:///\\h', 'https://h'],
  ['https://@h/x', 'https://h/x'],
  ['https://%68/', 'https://h/'],
  ['https://ⓗ。example/', 'https://h.example/'],
  ['https://Bücher.example/ü', 'https://xn--bcher-kva.example/ü'],
  ['http://2130706433/', 'http://127.0.0.1/'],
  ['http://[0:0::1]:80/', 'http://[::1]/'],
  ['https://a$&b/x', 'https://a$&b/x'],
  // Nothing is sent there.
  ['https://user:password@H/x', 'https://user:password@H/x'],
])('%j is stored as %j', (given, expected) => {
  expect(callbackFault({ url: given })).toBeNull();
  expect(stored(given)).toBe(expected);
});

test('it leads where it led, and is stored alike when it is stored again', () => {
  const odd = fc.string({ unit: fc.constantFrom(...'aB.1%6é\t\\@:x'), minLength: 1 });
  const host = fc.oneof(fc.domain(), fc.ipV4(), odd);
  const rest = fc.string({ unit: fc.constantFrom(...'/?#\\\t\n @:aé'), maxLength: 9 });
  const hosts = new Set<string>();
  fc.assert(
    fc.property(fc.constantFrom('https://', 'http://', 'https:///'), host, rest, (scheme, name, end) => {
      const given = `${scheme}${name}${end}`;
      if (callbackFault({ url: given }) !== null) return;
      const once = stored(given);
      hosts.add(new URL(given).host);
      expect([new URL(once).href, stored(once)]).toEqual([new URL(given).href, once]);
    }),
    { numRuns: 2_000, seed: 7 },
  );
  expect(hosts.size).toBeGreaterThan(200);
});

test('a URL that is stored longer than any may be is refused', () => {
  const url = `https://${'ü.'.repeat(500)}`;
  expect(Buffer.byteLength(url)).toBeLessThan(URL_MAX);
  expect(callbackFault({ url })).toMatchObject({ field: '' });
});

test('other callbacks are stored as they are given, without what is undefined', () => {
  const workflow = { workflowId: 'https://H:443/', runId: undefined, signal: 's' };
  expect(storedCallback(workflow)).toEqual({ workflowId: 'https://H:443/', signal: 's' });
});

const NAME = 'n'.repeat(1_000);
const TEXT = '1-1000 bytes of well-formed text without NUL';
const EITHER = '{url: "https://..."} or {workflowId, runId?, signal?}';

test.each<[unknown, string]>([
  [{ workflowId: 'w' }, ''],
  [{ workflowId: 'w', runId: 'r', signal: undefined }, ''],
  [{ workflowId: NAME, runId: NAME, signal: 'n'.repeat(500) }, ''],
  [{ workflowId: NAME, runId: NAME, signal: 'n'.repeat(501) }, ': ids and a signal of at most 2500 bytes together'],
  [{ workflowId: NAME, runId: NAME, signal: 'ü'.repeat(251) }, ': ids and a signal of at most 2500 bytes together'],
  [{ workflowId: `${NAME}n` }, `workflowId: ${TEXT}`],
  [{ workflowId: 'ü'.repeat(501) }, `workflowId: ${TEXT}`],
  [{ workflowId: '' }, `workflowId: ${TEXT}`],
  [{ workflowId: 7 }, `workflowId: ${TEXT}`],
  [{ workflowId: 'w', runId: '\0' }, `runId: ${TEXT}`],
  [{ workflowId: 'w', runId: 'r', signal: '\ud800' }, `signal: ${TEXT}`],
  [{ runId: 'r', signal: 's' }, `: ${EITHER}`],
  [{ workflowId: 'w', url: 'https://h' }, `: ${EITHER}`],
  [{ url: 'https://h', runId: 'r' }, `: ${EITHER}`],
  [{ url: 'ftp://h' }, `: ${EITHER}`],
  [{ url: 'https://' }, `: ${EITHER}`],
  [{ url: `https://h/${'n'.repeat(URL_MAX - 10)}` }, ''],
  [{ url: `https://h/${'n'.repeat(URL_MAX - 9)}` }, `: ${EITHER}`],
  [{}, `: ${EITHER}`],
  [null, `: ${EITHER}`],
  ['https://h', `: ${EITHER}`],
])('what is wrong with %j: %s', (given, expected) => {
  const fault = callbackFault(given);
  expect(fault === null ? '' : `${fault.field}: ${fault.expected}`).toBe(expected);
});

test('a fault names what was given', () => {
  expect(callbackFault({ workflowId: 'w', runId: 7 })).toMatchObject({ got: 7 });
  expect(callbackFault({ url: 'ftp://h' })).toMatchObject({ got: { url: 'ftp://h' } });
});
