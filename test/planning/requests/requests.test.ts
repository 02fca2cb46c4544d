import { ITEM_PAGE_MAX, PAGE_MAX, TIME_ORDERS } from '../../../workflows/planning/pages';
import { TAG_BYTES_MAX, TAGS_MAX, TASK_METADATA_BYTES_MAX } from '../../../workflows/planning/tags';
import { HEADER_NAME, HEADER_VALUE, isTransportHeader } from '../../../workflows/planning/transportHeaders';
import { climbs } from '../../../workflows/planning/urlPath';

/** What may stand in requests: paths, headers, pages, labels. */

test.each<[string, boolean]>([
  ['/a/b', false],
  ['/a/../b', true],
  ['/a/./b', true],
  ['..', true],
  ['/a/..', true],
  ['/a\\..\\b', true],
  ['/a/%2e%2E/b', true],
  ['/a/.%2e', true],
  ['/a/.../b', false],
  ['/a/..b/c', false],
  ['/a/b..', false],
  ['/%2e%2e%2e', false],
  ['/a?x=/../b', false],
  ['/a#/../b', false],
  ['/a?x=1\n/../b', false],
  ['', false],
])('the path %j climbs: %j', (path, expected) => expect(climbs(path)).toBe(expected));

test('headers of the transport and of proxies are its own', () => {
  const own = [
    ...['host', 'content-length', 'transfer-encoding', 'connection', 'keep-alive', 'upgrade', 'expect', 'te'],
    ...['trailer', 'http2-settings', 'proxy-authorization', 'proxy-'],
  ];
  expect(own.filter((name) => !isTransportHeader(name))).toEqual([]);
  expect(['authorization', 'x-host', 'proxy', 'content-type', 'x-proxy-a'].filter(isTransportHeader)).toEqual([]);
});

test('names and values of headers', () => {
  expect(['x-a', "!#$%&'*+-.^_`|~09AZaz"].every((name) => HEADER_NAME.test(name))).toBe(true);
  expect(['', 'x a', 'x:', 'é', 'a\n'].filter((name) => HEADER_NAME.test(name))).toEqual([]);
  expect(['', 'a b\tc', '\x80\xff~'].every((value) => HEADER_VALUE.test(value))).toBe(true);
  expect(['a\nb', '\0', '\x7f', '\u0100'].filter((value) => HEADER_VALUE.test(value))).toEqual([]);
});

test('pages and labels have bounds', () => {
  expect([PAGE_MAX, ITEM_PAGE_MAX]).toEqual([1_000, 10_000]);
  expect(TIME_ORDERS).toEqual(['newest', 'oldest']);
  expect([TAGS_MAX, TAG_BYTES_MAX, TASK_METADATA_BYTES_MAX]).toEqual([10, 100, 4_096]);
});
