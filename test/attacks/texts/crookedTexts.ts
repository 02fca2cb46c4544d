import { randomOf } from '../../chaos/random';

/** What breaks a parser, a store, a pattern, a page or a log somewhere. */
const FRAGMENTS = [
  ...['\u0000', '\ud800', '\udc00', '\ufeff', '\uffff', '\u202e', '\u2028', '\u0085', '\u001b[2J', '\u0008', '\u007f'],
  ...[
    '\r\n',
    '\n',
    '\t',
    ' ',
    '',
    '%',
    '_',
    '%00',
    '%2e%2e%2f',
    '../',
    '\\',
    '\\u0000',
    '\\x00',
    '/',
    '//',
    ';',
    ':',
    '#',
    '?',
    '&',
  ],
  ...[
    "'",
    '"',
    '`',
    '$$',
    '$1',
    '${x}',
    '{{x}}',
    '--',
    '/*',
    ')',
    '*',
    '[',
    '{',
    '}',
    '<',
    '>',
    '|',
    '^',
    '(a+)+$',
    '\\1',
  ],
  ...[
    'null',
    'true',
    'NaN',
    'Infinity',
    '-0',
    '-1',
    '0x10',
    '1e309',
    '9007199254740993',
    '99999999999999999999',
    '1,5',
    '٣',
  ],
  ...['__proto__', 'constructor', 'toString', '$codec', '$ref', 'length', 'then', 'prototype'],
  ...[
    '2026-02-30',
    '2026-13-01T00:00:00Z',
    '-271821-04-20',
    '+275760-09-13T00:00:00.001Z',
    'infinity',
    'epoch',
    'now',
    '24:00',
    'PT1H',
  ],
  ...[
    'javascript:alert(1)',
    'file:///etc/passwd',
    'https://',
    'http://[::1]:1',
    'https://a@b',
    'data:,',
    '<script>',
    '<!--',
    'Set-Cookie: a=b',
  ],
  ...['é', 'e\u0301', 'İ', 'ß', '😀', '👨‍👩‍👧', 'ﷺ', 'a\u0300'.repeat(40), 'x'.repeat(300), 'x'.repeat(5_000)],
  ...[
    'muster',
    'select pg_sleep(9)',
    "'; drop table task; --",
    'tenant/',
    'rival/',
    '00000000-0000-0000-0000-000000000000',
  ],
] as const;

/** Yields texts of one to four fragments, at times doubled; for one seed always the same. */
export function* crookedTexts(seed: number): Generator<string> {
  const random = randomOf(seed);
  const pick = (): string => FRAGMENTS[Math.floor(random() * FRAGMENTS.length)]!;
  for (;;) {
    const parts = Array.from({ length: 1 + Math.floor(random() * 4) }, pick).join('');
    yield random() < 0.1 ? parts.repeat(2) : parts;
  }
}
