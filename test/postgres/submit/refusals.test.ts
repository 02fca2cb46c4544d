import type { SqlShop } from './shop';
import { openSqlShop, refusal } from './shop';

/** What `submit` of the database refuses: with a SQLSTATE, the client's code, and a remedy. */

let shop: SqlShop;
beforeAll(async () => {
  shop = await openSqlShop();
});
afterAll(() => shop.stop());

interface Given {
  handler?: unknown;
  id?: unknown;
  payload?: unknown;
  target?: unknown;
  not_before?: unknown;
  priority?: unknown;
  weight?: unknown;
  bytes?: unknown;
  distinct_key?: unknown;
}
const GOOD: Given = { handler: 'orders', id: 'x', payload: { customer: 'ada', total: 1 }, target: 'ada' };
const SMALL: Given = { handler: 'small', distinct_key: '1' };
const submit = (given: Given) => {
  const all = Object.entries({ ...GOOD, ...given });
  const names = all.map(([name], i) => `${name} => $${i + 1}`).join(', ');
  const values = all.map(([name, value]) => (name === 'payload' && value !== null ? JSON.stringify(value) : value));
  return shop.sql(`select submit(${names})`, values);
};
const deep = (levels: number): unknown => Array.from({ length: levels }).reduce<unknown>((inner) => [inner], 1);

test.each<[string, Given, string, string, RegExp]>([
  [
    'an unknown handler',
    { handler: 'nope' },
    '42704',
    'UNKNOWN_HANDLER',
    /handler: expected one that is registered, got "nope"/,
  ],
  ['no handler', { handler: null }, '22023', 'INVALID_ARGUMENT', /handler: expected 1-64 bytes of text, got null/],
  ['a handler in lanes', { handler: 'lane' }, '0A000', 'INVALID_HANDLER', /expected one without lanes, got "lane"/],
  ['no id', { id: null }, '22023', 'INVALID_ID', /id: expected 1-256 bytes of text, got null/],
  ['an empty id', { id: '' }, '22023', 'INVALID_ID', /id: expected 1-256 bytes of text, got 0/],
  ['a long id', { id: 'ö'.repeat(129) }, '22023', 'INVALID_ID', /id: expected 1-256 bytes of text, got 258/],
  ['no target', { target: null }, '22023', 'INVALID_TARGET', /target: expected 1-512 bytes of text, got null/],
  ['a long target', { target: 'x'.repeat(513) }, '22023', 'INVALID_TARGET', /expected 1-512 bytes of text, got 513/],
  ['no payload', { payload: null }, '22023', 'INVALID_PAYLOAD', /payload: expected JSON, got null of SQL/],
  [
    'a large payload',
    { ...SMALL, payload: 'x'.repeat(299) },
    '54000',
    'PAYLOAD_TOO_LARGE',
    /at most 300 bytes of JSON, got 301/,
  ],
  [
    'a payload that no call takes',
    { ...SMALL, payload: 'x'.repeat(179) },
    '54000',
    'TASK_TOO_LARGE',
    /200 bytes, got 181 \+ 20/,
  ],
  ['a deep payload', { payload: deep(101) }, '54000', 'INVALID_PAYLOAD', /at most 100 levels/],
  ['an encoded payload', { payload: { $codec: {} } }, '22023', 'INVALID_PAYLOAD', /no field "\$codec"/],
  ['a priority', { priority: 32_768 }, '22023', 'INVALID_PRIORITY', /-32768..32767, got 32768/],
  ['no priority', { priority: null }, '22023', 'INVALID_PRIORITY', /got null/],
  [
    'no time at all',
    { not_before: 'infinity' },
    '22023',
    'INVALID_TIME',
    /expected a time from 1970 to 9999, got infinity/,
  ],
  ['a time before all', { not_before: '1066-10-14Z' }, '22023', 'INVALID_TIME', /got 1066-10-14/],
  ['bytes', { bytes: -1 }, '22023', 'INVALID_PAYLOAD', /bytes: expected a number of at least 0, got -1/],
  ['a weight', { weight: -1 }, '22023', 'INVALID_PAYLOAD', /weight: expected a number of at least 0, got -1/],
  ['a weight that is none', { weight: 'NaN' }, '22023', 'INVALID_PAYLOAD', /got NaN/],
  ['a heavy task', { ...SMALL, weight: 5.5 }, '54000', 'TASK_TOO_HEAVY', /weight: expected at most 5, got 5.5/],
  [
    'a key that is missing',
    { handler: 'small' },
    '22023',
    'INVALID_KEY',
    /distinct_key: expected 1-512 bytes of text, got null/,
  ],
  [
    'a key that is not asked for',
    { distinct_key: 'x' },
    '22023',
    'INVALID_KEY',
    /expected none, .* has no distinctBy, got one/,
  ],
])('%s is refused', async (_, given, code, detail, message) => {
  const refused = await refusal(submit(given));
  expect(refused).toEqual({
    code,
    detail,
    message: expect.stringMatching(message),
    hint: expect.stringMatching(/^[A-Z].*\.$/),
  });
  expect(refused.message).toMatch(/^Cannot submit the task: /);
  expect(await shop.sql('select from task')).toEqual([]);
});

test('who may not submit to a lane is told what to do in place of it', async () => {
  const { hint } = await refusal(submit({ handler: 'lane' }));
  expect(hint).toMatch(
    /^Submit by the client library or the HTTP API, .* from SQL write a row of your own, which a program/,
  );
});

test('what is just within the limits is accepted', async () => {
  const accepts = async (given: Given): Promise<void> => {
    await submit(given);
    await shop.sql(`delete from queue`);
    await shop.sql(`delete from delayed`);
    await shop.sql(`delete from task`);
  };
  await accepts({ id: 'ö'.repeat(128), target: 'x'.repeat(512), priority: -32_768 });
  await accepts({ ...SMALL, payload: 'x'.repeat(178), weight: 5 });
  await accepts({ ...SMALL, payload: 'x'.repeat(298), bytes: 1 });
  await accepts({ payload: deep(100) });
  await accepts({ payload: { inner: { $codec: {} } }, not_before: '2099-01-01Z' });
});

test('what waits already is back pressure, also within one transaction', async () => {
  const few = (id: string, target: string): Promise<unknown> => submit({ handler: 'few', id, target });
  await few('few-1', 'a');
  await few('few-2', 'a');
  expect(await refusal(few('few-3', 'a'))).toMatchObject({
    code: '53400',
    detail: 'BACKLOGGED',
    message: expect.stringMatching(/2 tasks of target "a" of handler "few" are waiting, expected fewer than 2/),
    hint: 'Submit the same id again later.',
  });
  await few('few-1', 'a'); // a repeat adds nothing
  const both = `select submit('few', 'few-4', '{}', 'b'), submit('few', 'few-5', '{}', 'c')`;
  expect(await refusal(shop.sql(both))).toMatchObject({
    detail: 'BACKLOGGED',
    message: expect.stringMatching(/3 tasks of handler "few" are waiting, expected fewer than 3/),
  });
});

test('a handler that an older version registered is refused until a worker of today has', async () => {
  await shop.sql(`update handler set max_payload_bytes = null where name = 'orders'`);
  expect(await refusal(submit({}))).toMatchObject({
    code: '55000',
    detail: 'INVALID_HANDLER',
    message: expect.stringMatching(/"orders" was registered by an older version/),
  });
});
