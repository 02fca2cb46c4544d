import { z } from 'zod';
import { makeBulkStep } from '../../../client/bulk/step';
import type { HandlerOptions } from '../../../handlers';
import type { Item, Shop } from '../shop';
import { broken, cut, itemHandler, items, openShop } from '../shop';
import { made, makeSteps } from './made';
import { forget, patched, payloadsOf, rowsOf } from './patching';

/** Payloads that a bulk action changes, in a store where nothing else moves. @slow */

let shop: Shop;
const open = async (options: Partial<HandlerOptions<Item>> = {}): Promise<Shop> => (shop = await openShop(options));
afterEach(async () => {
  const found = await broken(shop.client);
  await shop.stop();
  expect(found).toEqual({});
});

test('waiting tasks get other payloads wherever they wait, with the bytes and weight of these', async () => {
  await open({ weightOf: ({ note = '' }) => note.length });
  await shop.client.submit('items', [
    { id: 'a', payload: { to: 'se', note: 'xy' } },
    { id: 'later', payload: { to: 'se', note: 'xy', key: 'k' }, notBefore: '2099-01-01' },
    { id: 'held', payload: { to: 'se', note: 'xy' }, dependsOn: ['a'] },
    { id: 'heavy', payload: { to: 'se', note: 'xy' } },
    { id: 'as-wanted', payload: { to: 'se', note: 'longer' } },
    { id: 'sent', payload: { to: 'no', note: 'xy' } },
  ]);
  await cut(shop.pool, ['sent']);
  await made(shop.client, { handler: 'items', where: { id: 'heavy' }, action: { do: 'update', weight: 9 } });
  const view = await patched(shop, { note: 'longer', key: null });
  expect(view).toMatchObject({ state: 'done', total: 5, done: 4, skipped: 1, failed: 0 });
  expect(view.action).toEqual({ do: 'update', payloadPatch: '{"note":"longer","key":null}' });
  expect(await payloadsOf(shop.client, 'a', 'later', 'held', 'heavy', 'sent')).toEqual([
    ...Array<object>(4).fill({ to: 'se', note: 'longer' }),
    { to: 'no', note: 'xy' },
  ]);
  const bytes = Buffer.byteLength(JSON.stringify({ to: 'se', note: 'longer' }));
  for (const id of ['a', 'later']) expect(await rowsOf(shop, id)).toEqual(Array(2).fill({ bytes, weight: 6 }));
  expect(await rowsOf(shop, 'held')).toEqual([{ bytes, weight: 6 }]);
  expect(await rowsOf(shop, 'heavy')).toEqual(Array(2).fill({ bytes, weight: 9 })); // as it was set by hand
  expect(await patched(shop, { note: 'longer' })).toMatchObject({ total: 5, done: 0, skipped: 5 });
  const [entry] = await shop.client.audit.list({ subject: 'handler items', limit: 1 });
  expect(entry).toMatchObject({ verb: 'bulk update', detail: { action: { payloadPatch: { note: 'longer' } } } });
  // With other changes beside it, of one task only.
  const one = { where: { id: 'a' }, action: { do: 'update', payloadPatch: { note: 'z' }, weight: 2 } };
  expect(await made(shop.client, { handler: 'items', ...one } as never, shop.handler)).toMatchObject({ done: 1 });
  expect(await rowsOf(shop, 'a')).toEqual(Array(2).fill({ bytes: bytes - 5, weight: 2 }));
  expect(await shop.client.getTask('a')).toMatchObject({ payload: { note: 'z' } });
  await forget(shop, 'sent');
});

test('a task stays as it is if its target or key would be another, or the handler refuses it', async () => {
  const schema = z.object({
    to: z.string().max(5),
    key: z.string().optional(),
    note: z.string().optional(),
    cents: z
      .number()
      .transform((n) => n * 100)
      .optional(),
  }) as never;
  await open({ schema, distinctBy: ({ key = 'none' }) => key });
  const task = (id: string, payload: object) => ({ id, payload: { to: 'se', ...payload } as Item });
  await shop.client.submit('items', [task('a', {}), task('b', { key: 'other' }), task('c', { cents: 2 })]);
  const first = await patched(shop, { key: 'other', note: 'n' });
  expect(first).toMatchObject({ total: 3, done: 1, failed: 2 });
  expect(first.failures).toEqual({
    'its key of distinctBy or coalesceBy would be another: cancel it, and submit another task': 1,
    'the schema would change what is not in the patch: cancel it, and submit another task; payload.cents': 1,
  });
  expect(await payloadsOf(shop.client, 'a', 'b', 'c')).toEqual([
    { to: 'se' },
    { to: 'se', key: 'other', note: 'n' },
    { to: 'se', cents: 200 },
  ]);
  // A member of the patch is given as at a submit.
  expect(await patched(shop, { cents: 3 }, { id: 'c' })).toMatchObject({ done: 1 });
  expect(await payloadsOf(shop.client, 'c')).toEqual([{ to: 'se', cents: 300 }]);
  const where = { id: 'a' };
  const invalid = await patched(shop, { to: 'too long' }, where);
  expect(Object.keys(invalid.failures)[0]).toMatch(
    /^the handler refuses the new payload: correct the patch; payload\.to: Too big/,
  );
  expect((await patched(shop, { to: 'no' }, where)).failures).toEqual({
    'its target would be another: cancel it, and submit another task': 1,
  });
  expect((await patched(shop, { note: 5 }, { target: 'se' })).failed).toBe(3);
  expect(await payloadsOf(shop.client, 'a')).toEqual([{ to: 'se' }]);
});

test('payloads of older versions and of SQL become today’s; what is no object, or newer, stays', async () => {
  await open({ target: (item: unknown) => (item as Item).to ?? 'se' });
  await shop.client.submit('items', [...items('se', 'old', 'newer'), { id: 'text', payload: 'se' }]);
  await shop.pool.query(`select muster.submit('items', 'sql', '{"to": "se"}', 'se')`);
  await shop.pool.query(`update task set version = 3 where id = 'newer'`);
  const today = itemHandler({
    target: (item: unknown) => (item as Item).to ?? 'se',
    payloadVersion: 2,
    upcast: (payload, from) => ({ ...(typeof payload === 'object' ? payload : { text: payload }), from }) as never,
  });
  const { id } = await shop.client.bulk.start({
    handler: 'items',
    action: { do: 'update', payloadPatch: { note: 'n' } },
  });
  await expect(makeSteps(shop.client, today)).rejects.toThrow(
    /^the payload of task "newer" is of version 3, and this worker knows handler "items" up to version 2\. It waits/,
  );
  expect(await payloadsOf(shop.client, 'old')).toEqual([{ to: 'se' }]);
  await shop.pool.query(`update task set version = 2 where id = 'newer'`);
  await shop.pool.query('update bulk_action set step_at = clock()');
  await makeSteps(shop.client, today);
  expect(await shop.client.bulk.get(id)).toMatchObject({ state: 'done', done: 4, error: null });
  expect(await payloadsOf(shop.client, 'old', 'newer', 'sql', 'text')).toEqual([
    { to: 'se', note: 'n', from: 1 },
    { to: 'se', note: 'n' },
    { to: 'se', note: 'n' },
    { text: 'se', note: 'n', from: 1 },
  ]);
  expect((await shop.pool.query('select distinct version from task')).rows).toEqual([{ version: 2 }]);
  await shop.pool.query(`update task set payload = '"se"' where id = 'text'`);
  const refused = await patched({ ...shop, handler: today }, { note: 'o' }, { id: 'text' });
  expect(Object.keys(refused.failures)).toEqual([
    'its payload is no JSON object, as a merge patch needs: cancel it, and submit another task',
  ]);
});

test('a payload that today’s handler refuses is mended, also one of an older version or of SQL', async () => {
  await open();
  await shop.client.submit('items', items('se', 'a', 'typo'));
  await shop.pool.query(`select muster.submit('items', 'sql', '{"to": "se", "note": "n"}', 'se')`);
  await shop.pool.query(`select muster.submit('items', 'lossy', '{"to": "se", "n": 12345678901234567890}', 'se')`);
  const note = z.string().toUpperCase().optional();
  const schema = z.object({ to: z.string(), currency: z.enum(['EUR']), cents: z.number().default(0), note }) as never;
  const weightOf = ({ cents }: { cents?: number }): number => cents!.toFixed().length + 1;
  const today = { ...shop, handler: itemHandler({ schema, weightOf: weightOf as never }) };
  const done = await patched(today, { currency: 'EUR' });
  expect(done).toMatchObject({ total: 4, done: 3, failed: 1 });
  expect(Object.keys(done.failures)[0]).toMatch(/^its payload cannot be made today’s.*12345678901234567890/);
  const mended = { to: 'se', currency: 'EUR', cents: 0 };
  expect(await payloadsOf(shop.client, 'a', 'typo', 'sql')).toEqual([mended, mended, { ...mended, note: 'N' }]);
  expect((await rowsOf(shop, 'a'))[0]).toMatchObject({ weight: 2 });
  // A member that the handler does not have is no task that is as wanted.
  expect((await patched(today, { curency: 'EUR', cents: 5 }, { id: 'typo' })).failures).toEqual({
    'the handler drops a member of the patch: correct its name, or give the workers newer code; payload.curency': 1,
  });
  expect(await payloadsOf(shop.client, 'typo')).toEqual([mended]);
  // The version before: its upcast makes of it what the schema refuses without the patch.
  await shop.pool.query(`update task set payload = '{"to":"se"}' where id = 'a'`);
  const next = itemHandler({
    schema,
    payloadVersion: 2,
    upcast: (payload) => ({ ...(payload as object), cents: 7 }) as never,
  });
  expect(await patched({ ...shop, handler: next }, { currency: 'EUR' }, { id: 'a' })).toMatchObject({ done: 1 });
  expect(await payloadsOf(shop.client, 'a')).toEqual([{ ...mended, cents: 7 }]);
  await shop.pool.query(`update task set bytes = octet_length(payload::text) where id = 'a'`);
});

test('only a process that has the handler changes payloads; others go on with all else', async () => {
  await open();
  await shop.client.submit('items', items('se', 'a', 'b'));
  const action = { do: 'update', payloadPatch: { note: 'n' } } as const;
  const waits = await shop.client.bulk.start({ handler: 'items', action });
  const other = await shop.client.bulk.start({ handler: 'items', action: { do: 'update', priority: 2 } });
  expect(await makeBulkStep(shop.client, { handlers: new Map([['else', shop.handler]]), onlyHidden: true })).toBeNull();
  await makeSteps(shop.client);
  expect(await shop.client.bulk.get(other.id)).toMatchObject({ state: 'done', done: 2 });
  expect(await shop.client.bulk.get(waits.id)).toMatchObject({ state: 'counting', error: null });
  const third = await shop.client.bulk.start({ handler: 'items', action: { do: 'cancel' } });
  const mine = { handlers: new Map([['items', shop.handler]]), onlyHidden: true };
  for (let step = await makeBulkStep(shop.client, mine); step !== null; step = await makeBulkStep(shop.client, mine));
  expect(await shop.client.bulk.get(waits.id)).toMatchObject({ state: 'done', done: 2 });
  expect(await shop.client.bulk.get(third.id)).toMatchObject({ state: 'counting' });
});

test('a dry run says which of the first would fail; wrong patches are refused, and nothing is started', async () => {
  await open();
  await shop.client.submit('items', [...items('se', 'a'), ...items('no', 'b')]);
  const run = (payloadPatch: unknown) =>
    shop.client.bulk.dryRun({ handler: 'items', action: { do: 'update', payloadPatch: payloadPatch as never } });
  expect(await run({ to: 'se' })).toMatchObject({
    count: 1,
    refused: [{ id: 'b', reason: 'its target would be another: cancel it, and submit another task' }],
  });
  expect(await run({ note: 'n' })).toMatchObject({ count: 2, refused: [] });
  // What is as wanted already is not counted, as nothing would change; other fields count, too.
  await shop.client.submit('items', { id: 'c', payload: { to: 'se', note: 'n' } });
  const counts = await run({ note: 'n' });
  expect([counts.count, counts.sample.map(({ id }) => id).sort()]).toEqual([2, ['a', 'b']]);
  const action = { do: 'update', payloadPatch: { note: 'n' }, weight: 4 } as const;
  expect(await shop.client.bulk.dryRun({ handler: 'items', action })).toMatchObject({ count: 3, complete: true });
  const limited = await shop.client.bulk.dryRun({ handler: 'items', action, limit: 1 });
  expect(limited).toMatchObject({ count: 1, complete: true });
  // It is told of what waits for a newer worker, and of all others none the less.
  await shop.pool.query(`update task set version = 2 where id = 'a'`);
  const told = await run({ to: 'se' });
  expect([told.count, told.refused!.sort((one, other) => (one.id < other.id ? -1 : 1))]).toMatchObject([
    2,
    [
      { id: 'a', reason: expect.stringMatching(/is of version 2, and .* up to version 1\. It waits/) as string },
      { id: 'b' },
    ],
  ]);
  await shop.pool.query(`update task set version = null where id = 'a'`);
  expect(await payloadsOf(shop.client, 'a', 'b')).toEqual([{ to: 'se' }, { to: 'no' }]);
  const expected = 'action.payloadPatch: expected ';
  for (const wrong of [{}, [], [1], 'x', null, 5, { a: undefined }])
    await expect(run(wrong)).rejects.toThrow(`${expected}a JSON object with at least one member`);
  await expect(run({ a: 5n })).rejects.toThrow(`${expected}a value that can be written as JSON`);
  await expect(run({ a: 'x'.repeat(65_536) })).rejects.toThrow(`${expected}at most 65536 bytes of JSON`);
  for (const wrong of ['{"__proto__": {"a": 1}}', '{"a": [{"__proto__": 1}]}'])
    await expect(run(JSON.parse(wrong))).rejects.toThrow(`${expected}no member "__proto__"`);
  const long = { handler: 'items', where: { id: 'é'.repeat(129) }, action: { do: 'cancel' } } as const;
  await expect(shop.client.bulk.dryRun(long)).rejects.toThrow('where.id: expected the id of a task, of at most 256');
  expect(await shop.client.bulk.dryRun({ ...long, where: { id: 'é'.repeat(128) } })).toMatchObject({ count: 0 });
  const deep = JSON.parse(`${'{"a":'.repeat(101)}1${'}'.repeat(101)}`) as unknown;
  await expect(run(deep)).rejects.toThrow(`${expected}at most 100 levels of arrays and objects`);
});

test('a list leaves out a long patch; the action itself has it', async () => {
  await open();
  await shop.client.submit('items', items('se', 'a'));
  const note = 'x'.repeat(2_000);
  const start = (payloadPatch: object) =>
    shop.client.bulk.start({ handler: 'items', action: { do: 'update', payloadPatch } as never });
  const { id } = await start({ note });
  await start({ note: 'y' });
  await shop.client.bulk.start({ handler: 'items', action: { do: 'cancel' } });
  expect((await shop.client.bulk.list()).actions.map(({ action }) => action)).toEqual([
    { do: 'cancel' },
    { do: 'update', payloadPatch: '{"note":"y"}' },
    { do: 'update', payloadPatch: '(2011 characters, which lists leave out)' },
  ]);
  expect((await shop.client.bulk.get(id))!.action).toEqual({ do: 'update', payloadPatch: JSON.stringify({ note }) });
  // The audit says all else, also of one that is longer than an entry.
  const longer = { note: 'x'.repeat(9_000), more: Array(900).fill('y') };
  await shop.client.bulk.start({
    handler: 'items',
    where: { target: 'se' },
    action: { do: 'update', payloadPatch: longer, weight: 2 },
  });
  const [entry] = await shop.client.audit.list({ subject: 'target items/se', limit: 1 });
  const payloadPatch = `(${JSON.stringify(longer).length} characters, which the audit leaves out)`;
  expect(entry).toMatchObject({
    detail: { where: { target: 'se' }, action: { do: 'update', weight: 2, payloadPatch } },
    answer: { handler: 'items', state: 'counting', action: { weight: 2, payloadPatch } },
  });
  // And where several are just short enough to be kept.
  const wide = { note: '深'.repeat(980) };
  const where = { target: 'se', error: '深'.repeat(990) };
  await shop.client.bulk.start({ handler: 'items', where, action: { do: 'update', payloadPatch: wide, weight: 3 } });
  const [shorter] = await shop.client.audit.list({ subject: 'target items/se', limit: 1 });
  expect(shorter).toMatchObject({ detail: { where: { target: 'se' }, action: { do: 'update', weight: 3 } } });
});
