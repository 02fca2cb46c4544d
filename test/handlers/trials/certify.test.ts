import { LaterError, RejectedError } from '../../../handlers';
import { CASES_MIN, certifyHandler } from '../../../handlers/trials';
import { CASES } from '../../../handlers/trials/cases';
import type { Parts } from './indexer';
import { indexer } from './indexer';

/**
 * A right handler gets its certificate, and each kind of mistake is seen by the cases for it.
 *
 * @slow
 */

const failedOf = async (wrong: Partial<Parts>): Promise<string[]> => {
  const { cases } = await certifyHandler(indexer(wrong));
  return cases.filter(({ status }) => status === 'failed').map(({ name }) => name);
};

test('a handler in code that is right is certified, by more than forty cases', async () => {
  const { cases, ...grade } = await certifyHandler(indexer());
  expect(cases.filter(({ status }) => status !== 'passed')).toEqual([]);
  expect(grade).toEqual({
    handler: 'index-city',
    passed: CASES.length,
    run: CASES.length,
    skipped: 0,
    certified: true,
  });
  expect(CASES.length).toBeGreaterThan(CASES_MIN);
});

test('each case has a name of its own', () => {
  expect(new Set(CASES.map(({ name }) => name)).size).toBe(CASES.length);
});

test('a handler without a trial is refused, and the error says what it needs', async () => {
  const refused = certifyHandler(indexer({ more: { trial: undefined } }));
  await expect(refused).rejects.toMatchObject({
    name: 'ConfigError',
    message: expect.stringContaining('trial: expected a function that returns a trial, got nothing'),
  });
});

const all = (text: string) => (JSON.parse(text) as { items: { id: string; is: string }[] }).items;

const MISTAKES: readonly (readonly [what: string, wrong: Partial<Parts>, seenBy: string])[] = [
  [
    'takes 429 for an unknown outcome',
    { throttled: () => new Error('429') },
    'throttled: it waits, and counts no attempt',
  ],
  ['does not read Retry-After', { throttled: () => new LaterError('busy') }, 'Retry-After in seconds'],
  [
    'reads Retry-After in seconds only',
    {
      throttled: ({ headers }) =>
        new LaterError('busy', { retryAfterMs: Number(headers.get('retry-after')) * 1_000 || undefined }),
    },
    'Retry-After as a date',
  ],
  [
    'takes what is busy for refused',
    { resultOf: ({ id, is }) => ({ id, status: is === 'ok' ? 'ok' : 'failed' }) },
    'one item is busy: it alone is sent again',
  ],
  [
    'sends what is refused again',
    { resultOf: ({ id, is }) => ({ id, status: is === 'ok' ? 'ok' : 'retry' }) },
    'a poison task at place 7 of 10 fails alone',
  ],
  [
    'takes everything of a 200 for applied',
    { resultOf: ({ id }) => ({ id, status: 'ok' }) },
    'every item is refused for good: all fail, and nothing is applied',
  ],
  [
    'matches results by their place',
    {
      items: (text) => all(text).map((item, index) => ({ ...item, index })),
      resultOf: ({ is, index }: { is: string; index?: number }) => ({ index, status: is === 'ok' ? 'ok' : 'failed' }),
    },
    'reversed results of which one is refused: that task fails, and no other',
  ],
  [
    'believes the places of a list that is one too short',
    {
      items: (text) => all(text).map((item, index) => ({ ...item, index })),
      resultOf: ({ is, index }: { is: string; index?: number }) => ({ index, status: is === 'ok' ? 'ok' : 'retry' }),
    },
    'the answer says nothing of one item, and a later one is busy: no place is shifted',
  ],
  [
    'refuses for good what it cannot send',
    { unreachable: () => new RejectedError('fetch failed') },
    'nothing listens at the address: nothing was sent, so it waits',
  ],
  [
    'takes a lost answer for "nothing was applied"',
    { unreachable: () => new LaterError('fetch failed') },
    'the connection is reset after the effect',
  ],
  [
    'fails a backlog for refused credentials',
    { credentials: (text) => new RejectedError(text), more: { bisect: false } },
    'refused credentials: the handler is paused, and no task fails of it',
  ],
  [
    'does not bisect',
    { more: { bisect: false } },
    'a call that is refused for the task at place 6 of 10 is halved until that is alone',
  ],
  [
    'says that it has a key, and sends none',
    { keyOf: () => undefined },
    'two workers send the same batch at once: one effect per task',
  ],
  [
    'takes a new key for each batch',
    { keyOf: () => String(Math.random()) },
    'tasks that were applied are sent again in another batch and order: one effect per task',
  ],
  [
    'counts characters in place of bytes',
    { bytesOf: (city, id) => JSON.stringify({ id, key: id, ...city }).length + 1 },
    'counts the bytes of text beyond ASCII',
  ],
  [
    'counts the text without its quotes',
    { bytesOf: ({ country, name }, id) => Buffer.byteLength(country + name) + 2 * id.length + 60 },
    'counts the bytes of quotes, backslashes and line ends',
  ],
  [
    'takes tasks of its own accord for unknown',
    { resultOf: ({ id }) => ({ id, status: 'unknown' }), more: { idempotency: 'none' } },
    'every item is applied',
  ],
];

/** All at once: a certificate waits more than it computes. */
const judged = new Map<string, Promise<string[]>>();
beforeAll(async () => {
  for (const [what, wrong] of MISTAKES) judged.set(what, failedOf(wrong));
  await Promise.all(judged.values());
});

test.each(MISTAKES)('a handler that %s is not certified', async (what, _wrong, seenBy) => {
  expect(await judged.get(what)).toContain(seenBy);
});
