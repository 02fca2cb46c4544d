import fc from 'fast-check';
import type { InvalidTaskError } from '../../../client';
import { deleteUnusedRecipients } from '../../../postgres/sweeper/expired';
import { callbackFault, URL_MAX } from '../../../workflows/planning/callbacks/address';
import { expectWhole } from '../../helpers/whole';
import type { SqlShop } from './shop';
import { openSqlShop, refusal } from './shop';

/** Callbacks of tasks that are submitted by SQL: as the client stores and refuses them. */

let shop: SqlShop;
beforeAll(async () => {
  shop = await openSqlShop();
});
afterAll(() => shop.stop());

const payload = { customer: 'ada', total: 1 };
const SUBMIT = `select submit('orders', $1, $2, 'ada', callback => $3) as new`;
const bySql = (id: string, callback: unknown) => shop.sql(SUBMIT, [id, payload, JSON.stringify(callback)]);
const byClient = (id: string, callback: unknown) => shop.client.submit('orders', { id, payload, callback } as never);
const recipientOf = async (id: string) =>
  (await shop.sql('select r.* from task k join recipient r on r.id = k.recipient_id where k.id = $1', [id]))[0];
const url = (characters: number, host = 'https://example.com/') => host + 'x'.repeat(characters - host.length);

test.each<[string, unknown]>([
  ['null', null],
  ['a URL', { url: 'https://hooks.example.com/a?b=c#d' }],
  ['a port and an address', { url: 'http://127.0.0.1:8080' }],
  ['a short host and query', { url: 'http://hook?x' }],
  ['more than ASCII in its path', { url: 'https://mnchen.example9./ü 1' }],
  ['the longest URL', { url: url(URL_MAX) }],
])('%s: stored as the client stores it', async (name, callback) => {
  expect(await bySql(`sql ${name}`, callback)).toEqual([{ new: true }]);
  const stored = await recipientOf(`sql ${name}`);
  await byClient(`client ${name}`, callback);
  const { used_at: _, ...theirs } = (await recipientOf(`client ${name}`)) ?? {};
  // One row: the same address, whoever names it.
  expect(stored ?? {}).toMatchObject(theirs);
  expect(stored === undefined).toBe(callback === null);
});

test.each<[string, unknown]>([
  ['text', 'https://example.com'],
  ['an empty object', {}],
  ['a list', [{ url: 'https://example.com' }]],
  ['another field', { url: 'https://example.com', queue: 'q' }],
  ['no URL', { url: null }],
  ['another scheme', { url: 'ftp://example.com' }],
  ['a scheme in capitals', { url: 'HTTPS://example.com' }],
  ['no host', { url: 'https://' }],
  ['a port that is none', { url: 'https://example.com:65536/' }],
  ['an address that is none', { url: 'https://256.0.0.1/' }],
  ['a number at the end of the host', { url: 'https://example.1' }],
  ['a space in the host', { url: 'https://a b/' }],
  ['a URL that is too long', { url: url(URL_MAX + 1) }],
])('%s: refused, in the words of the client', async (_, callback) => {
  const refused = await refusal(bySql('refused', callback));
  const theirs: unknown = await byClient('refused', callback).catch((error: unknown) => error);
  const [problem] = (theirs as InvalidTaskError).problems;
  // Without what is shown of the value, JSON here, and the workflow that only the client may name.
  const words = (text: string) => text.replace(/, got .*$/s, '').replace(' or {workflowId, runId?, signal?}', '');
  expect(words(refused.message)).toBe(`Cannot submit the task: ${problem!.field}: ${words(problem!.message)}`);
  expect(refused).toMatchObject({ code: '22023', detail: problem!.code, hint: expect.stringMatching(/^[A-Z].*\.$/) });
  expect(problem!.code).toBe('INVALID_CALLBACK');
  expect(await recipientOf('refused')).toBeUndefined();
});

test.each([{ workflowId: 'w' }, { workflowId: 'w', runId: 'r', signal: 's' }, { workflowId: null }])(
  'no workflow is named by SQL: %j',
  async (callback) => {
    const { message, code, detail } = await refusal(bySql('refused', callback));
    expect({ code, detail }).toEqual({ code: '22023', detail: 'INVALID_CALLBACK' });
    expect(message).toContain('since no workflow can be named by SQL, got {');
    expect(await recipientOf('refused')).toBeUndefined();
  },
);

test('no host in Punycode, which only the client can judge; an address that is none hides no other', async () => {
  for (const wrong of ['https://xn--a/', 'https://a.XN--mnchen-3ya.example/'])
    expect(await refusal(bySql('refused', { url: wrong }))).toMatchObject({ detail: 'INVALID_CALLBACK' });
});

test('what the database takes for a URL, the client takes too; beyond ASCII hosts little else', async () => {
  const host = fc.oneof(
    fc.domain(),
    fc.ipV4(),
    fc.string({ unit: fc.constantFrom(...'a12.x0-'), minLength: 1, maxLength: 9 }),
    fc.string({ unit: fc.constantFrom(...'aB0-_.19%:@[]x~é '), minLength: 1, maxLength: 12 }),
  );
  const some = fc.tuple(fc.constantFrom('https://', 'http://', 'http:/'), host, fc.constantFrom('', ':80', ':', ':9x'));
  const urls = fc.sample(
    fc.tuple(some, fc.oneof(fc.constant(''), fc.webPath(), fc.string({ unit: 'binary-ascii', maxLength: 9 }))),
    { numRuns: 2_000, seed: 7 },
  );
  const all = urls.map(([parts, rest]) => (parts.join('') + rest).replaceAll('\0', ''));
  const taken = await shop.sql('select u.url, is_url(u.url) as taken from unnest($1::text[]) u (url)', [all]);
  const wrong = taken.filter((one) => one['taken'] === true && callbackFault({ url: one['url'] }) !== null);
  expect(wrong.map((one) => one['url'])).toEqual([]);
  expect(taken.filter((one) => one['taken'] === true).length).toBeGreaterThan(200);
});

test('one recipient per address: others do not wait for a caller who names it, until it is new', async () => {
  const callback = { url: 'https://shared.example' };
  await bySql('shared-1', callback);
  const caller = await shop.database.pool.connect();
  try {
    await caller.query('begin');
    await caller.query(SUBMIT, ['shared-2', payload, JSON.stringify(callback)]);
    await bySql('shared-3', callback);
    await byClient('shared-4', callback);
    // The sweeper passes over it while the caller has not committed, and sees the task then.
    await shop.sql(`update recipient set used_at = used_at - interval '2 hours'`);
    await shop.sql(`delete from queue where seq in (select seq from task where id ~ '^shared-')`);
    await shop.sql(`delete from task where id ~ '^shared-'`);
    expect(await deleteUnusedRecipients(shop.database.pool, 100)).toBe(0);
    await caller.query('commit');
    expect(await deleteUnusedRecipients(shop.database.pool, 100)).toBe(0);
    expect(await recipientOf('shared-2')).toMatchObject({ address: callback });
  } finally {
    caller.release(true);
  }
});

test('a recipient that was used long ago is in use again; one that is gone is made anew', async () => {
  const callback = { url: 'https://old.example' };
  await bySql('old-1', callback);
  const { id } = (await recipientOf('old-1'))!;
  await shop.sql(`update recipient set used_at = used_at - interval '2 hours' where id = $1`, [id]);
  await bySql('old-2', callback);
  expect(
    await shop.sql(`select used_at > clock() - interval '1 minute' as lately from recipient where id = $1`, [id]),
  ).toEqual([{ lately: true }]);
  await shop.sql(`update task set recipient_id = null where recipient_id = $1`, [id]);
  await shop.sql('delete from recipient where id = $1', [id]);
  await bySql('old-3', callback);
  expect((await recipientOf('old-3'))!['id']).not.toBe(id);
});

test('a recipient that was named after the sweeper looked is kept: it asks again under the lock', async () => {
  await bySql('late', { url: 'https://late.example' });
  const { id } = (await recipientOf('late'))!;
  expect(await shop.sql('select is_unused_recipient($1) as unused, is_unused_recipient(-1) as other', [id])).toEqual([
    { unused: false, other: true },
  ]);
  await shop.sql(`update task set recipient_id = null where recipient_id = $1`, [id]);
  await shop.sql(`update recipient set used_at = used_at - interval '2 hours' where id = $1`, [id]);
  await shop.sql('alter function is_unused_recipient(int) rename to asked');
  const said = (answer: boolean) =>
    shop.sql(`create or replace function is_unused_recipient(int) returns boolean language sql volatile as $$
      select ${answer} and exists (select from pg_locks where pid = pg_backend_pid() and mode = 'RowShareLock') $$`);
  await said(false);
  expect(await deleteUnusedRecipients(shop.database.pool, 100)).toBe(0);
  await said(true);
  expect(await deleteUnusedRecipients(shop.database.pool, 100)).toBe(1);
  await shop.sql('drop function is_unused_recipient(int)');
  await shop.sql('alter function asked(int) rename to is_unused_recipient');
});

test('nothing in the store is against its rules', () => expectWhole(shop.client));
