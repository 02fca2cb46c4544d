/** Request targets by which a path is made to look like another one. */

/** Ways to write the slash before a part of a path, or what stands for it. */
const SLASHES = ['/', '//', '///', '/./', '/../v1/', '/x/../', '%2f', '%2F', '%5c', '\\', '/%2e/', '/%2e%2e/v1/'];
/** What may stand between two parts without being one of them. */
const MORE_SLASHES = [
  '/%252e%252e/',
  '%252f',
  '/..;/',
  '/;/',
  '/.%2e/',
  '/%00/',
  '/%20',
  '/\u2215',
  '/%c0%af',
  '/%e0%80%af',
];
/** Ways to write a letter. */
const LETTERS: readonly ((letter: string) => string)[] = [
  (letter) => `%${letter.charCodeAt(0).toString(16)}`,
  (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`,
  (letter) => `%25${letter.charCodeAt(0).toString(16)}`,
  (letter) => letter.toUpperCase(),
  (letter) => String.fromCodePoint(letter.codePointAt(0)! + 0xfee0),
  (letter) => `%u00${letter.charCodeAt(0).toString(16)}`,
  (letter) => `${letter}%00`,
  (letter) => `${letter}%ad`,
  () => '%',
  (letter) => `%zz${letter}`,
];
/** What may follow a path. */
const ENDS = [
  ...[
    '/',
    '//',
    '/.',
    '/..',
    '/%2e',
    '/%2e%2e',
    '.',
    '..',
    '%2e',
    '%00',
    '%00.json',
    '%20',
    '+',
    '%0a',
    '%0d%0aHost:x',
  ],
  ...[';', ';a=b', '?', '??', '?a=b?c', '#', '#a', '%23', '%3f', '%3fa=b', '.json', '.JSON', '~', '*', ':', '::'],
  ...[
    '?__proto__[a]=b',
    '?a[]=1',
    '?a%5b%5d=1',
    '?%',
    '?%zz',
    '?=',
    '?&',
    `?${'a&'.repeat(3_000)}`,
    `/${'a'.repeat(7_000)}`,
  ],
  ...[
    '\u3002',
    '\uff0e',
    '\uff0f',
    '%ef%bc%8f',
    '%e2%80%ae',
    '%ff%fe',
    '%ed%a0%80',
    '/%ff',
    `/${'../'.repeat(500)}v1/tasks/x`,
  ],
];
/** Forms of the whole target; `path` begins with a slash. */
const WHOLE: readonly ((path: string, host: string) => string)[] = [
  (path, host) => `http://${host}${path}`,
  (path, host) => `HTTP://${host}${path}`,
  (path, host) => `https://${host}${path}`,
  (path) => `http://evil.example.com${path}`,
  (path, host) => `http://a:b@${host}${path}`,
  (path, host) => `http://${host}@evil.example.com${path}`,
  (path) => `http://[::1%25lo]${path}`,
  (path) => `http://[::ffff:127.0.0.1]${path}`,
  (path) => `http://0x7f.1${path}`,
  (path) => `http://0177.0.0.1:99999${path}`,
  (path) => `http://2130706433.${path}`,
  (path) => `http://127\u30020.0.1${path}`,
  (path) => `http:${path}`,
  (path) => `http:/${path}`,
  (path) => `http:///${path}`,
  (path) => `ftp://x${path}`,
  (path) => `file://${path}`,
  (path) => `javascript:${path}`,
  (path, host) => `//${host}${path}`,
  (path) => `//evil.example.com${path}`,
  (path) => `\\\\evil.example.com${path}`,
  (path) => path.slice(1),
  (path) => `.${path}`,
  (path) => `..${path}`,
  (path) => `/..${path}`,
  (path) => `/%2e%2e${path}`,
  (path) => `/docs/..${path}`,
  (path) => `/docs/%2e%2e${path}`,
  (path) => `/docs/static/..%2f..${path}`,
  (path) => `/docs/static/%2e%2e%2f%2e%2e%2f..${path}`,
  (path) => `/health/live/..${path}`,
  (path) => `/openapi.json/..${path}`,
  (path) => `/openapi.json;${path}`,
  (path) => `/openapi.json%00${path}`,
  (path) => `/openapi.json?${path}`,
  (path) => `?${path}`,
  (path) => `#${path}`,
  (path) => `*${path}`,
  (_, host) => host,
  () => '*',
  () => '',
];

/** Returns the crooked targets that are made of a path such as `/v1/tasks/a`. */
export const crookedTargets = (path: string, host: string): string[] => {
  const found = new Set<string>();
  const slashes = [...path.matchAll(/\//g)].map(({ index }) => index);
  for (const at of slashes)
    for (const slash of [...SLASHES, ...MORE_SLASHES]) found.add(`${path.slice(0, at)}${slash}${path.slice(at + 1)}`);
  const letters = [...path.matchAll(/[a-z0-9]/g)].map(({ index }) => index);
  for (const at of letters)
    for (const letter of LETTERS) found.add(`${path.slice(0, at)}${letter(path[at]!)}${path.slice(at + 1)}`);
  for (const end of ENDS) found.add(`${path}${end}`);
  for (const whole of WHOLE) found.add(whole(path, host));
  found.delete(path);
  return [...found];
};
