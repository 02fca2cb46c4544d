export interface Order {
  to: unknown;
  n: number;
}

export const good = (id: string, to = 'a'): { id: string; payload: Order } => ({ id, payload: { to, n: 1 } });

/** Tasks that are refused at submit: the field that the error names, its code and its message. */
export const BAD_TASKS: [what: string, task: unknown, field: string, code: string, message: RegExp][] = [
  ['missing id', { payload: { to: 'a', n: 1 } }, 'id', 'INVALID_ID', /expected 1-256 bytes of text, got nothing/],
  ['id not text', { ...good(''), id: 7 }, 'id', 'INVALID_ID', /expected text, got 7/],
  ['empty id', good(''), 'id', 'INVALID_ID', /expected 1-256 bytes, got 0/],
  ['id over 256 bytes', good('x'.repeat(257)), 'id', 'INVALID_ID', /got 257/],
  ['NUL in an id', good('a\0b'), 'id', 'INVALID_ID', /expected no NUL character, got one at place 1/],
  ['half a surrogate in an id', good('\ud800'), 'id', 'INVALID_ID', /well-formed Unicode/],
  [
    'payload against the schema',
    { id: 'p', payload: { to: 'a', n: 'one' } },
    'payload.n',
    'INVALID_PAYLOAD',
    /expected number/,
  ],
  [
    'payload over 256 KiB',
    { id: 'p', payload: { to: 'a'.repeat(262_144), n: 1 } },
    'payload',
    'PAYLOAD_TOO_LARGE',
    /at most 262144 bytes of JSON, got 262/,
  ],
  ['target not text', { id: 'p', payload: { to: 5, n: 1 } }, 'target', 'INVALID_TARGET', /expected text, got 5/],
  ['target empty', { id: 'p', payload: { to: '', n: 1 } }, 'target', 'INVALID_TARGET', /expected 1-512 bytes, got 0/],
  [
    'target over 512 bytes',
    { id: 'p', payload: { to: 'é'.repeat(257), n: 1 } },
    'target',
    'INVALID_TARGET',
    /expected 1-512 bytes, got 514/,
  ],
  ['NUL in a target', { id: 'p', payload: { to: 'a\0', n: 1 } }, 'target', 'INVALID_TARGET', /NUL/],
  [
    'notBefore',
    { ...good('p'), notBefore: 'tomorrow' },
    'notBefore',
    'INVALID_TIME',
    /expected an ISO time.*got "tomorrow"/,
  ],
  ['notBefore: a number as text', { ...good('p'), notBefore: '1' }, 'notBefore', 'INVALID_TIME', /ISO time.*got "1"/],
  ['priority', { ...good('p'), priority: 1.5 }, 'priority', 'INVALID_PRIORITY', /whole number.*got 1.5/],
  ['callback', { ...good('p'), callback: { url: 'ftp://x' } }, 'callback', 'INVALID_CALLBACK', /expected \{url/],
  ...(['workflowId', 'runId', 'signal'] as const).flatMap((field): typeof BAD_TASKS =>
    [7, '', 'a\0b', 'x'.repeat(1_001), null].map((value) => [
      `${field} of a callback: ${JSON.stringify(value).slice(0, 8)}`,
      { ...good('p'), callback: { workflowId: 'w', [field]: value } },
      `callback.${field}`,
      'INVALID_CALLBACK',
      /expected 1-1000 bytes of well-formed text without NUL, got/,
    ]),
  ),
  ...[7, { workflowId: 'w', run: 'r' }, { url: 'https://x', workflowId: 'w' }].map(
    (callback, i): (typeof BAD_TASKS)[number] => [
      `callback of another form ${i}`,
      { ...good('p'), callback },
      'callback',
      'INVALID_CALLBACK',
      /expected \{url: "https:\/\/..."\} or \{workflowId, runId\?, signal\?\}/,
    ],
  ),
  ['no object', 'task', 'task', 'INVALID_TASK', /expected an object/],
];
