import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import type { BulkView, Client, CodecContext, ObjectStore, PayloadCodec } from '../../../client';
import { makeBulkStep } from '../../../client/bulk/step';
import { codecOf } from '../../../examples/codec/aesGcmCodec';
import type { HandlerOptions } from '../../../handlers';
import { countDueObjects } from '../../../postgres/unneededObject';
import type { Item, Shop } from '../shop';
import { broken, cut, items, openShop, placesOf } from '../shop';
import { afterChoice, makeSteps } from './made';
import { encoding, forget, patched, payloadsOf, rowsOf } from './patching';

/** Payloads that a bulk action changes where there is a codec, or an object store. @slow */

let shop: Shop;
const open = async (options: Partial<HandlerOptions<Item>> = {}): Promise<Shop> => (shop = await openShop(options));
afterEach(async () => {
  jest.restoreAllMocks();
  const found = await broken(shop.client);
  await shop.stop();
  expect(found).toEqual({});
});

/** A client whose codec does something else as a step encodes payloads, before it locks them. */
const interrupted = (): { client: Client; meanwhile(work: () => Promise<unknown>): void } => {
  let work: (() => Promise<unknown>) | null = null;
  const payloadCodec: PayloadCodec = {
    encode: async (payloads, context) => {
      if ((context as CodecContext).kind === 'payload') await work?.();
      return payloads;
    },
    decode: async (payloads) => payloads,
  };
  return { client: encoding(shop, { payloadCodec }), meanwhile: (given) => (work = given) };
};
const once = (work: () => Promise<unknown>): (() => Promise<unknown>) => {
  let done: Promise<unknown> | null = null;
  return () => (done ??= work());
};

test('what is claimed before its change is skipped, also if it was refused; what changed is decided anew', async () => {
  await open();
  await shop.client.submit('items', [...items('se', 'a', 'b', 'c'), ...items('no', 'd')]);
  const { client, meanwhile } = interrupted();
  const action = { do: 'update', payloadPatch: { to: 'se', note: 'n' } } as const;
  const { id } = await client.bulk.start({ handler: 'items', action });
  meanwhile(
    once(async () => {
      await cut(shop.pool, ['a']);
      await cut(shop.pool, ['d']);
      await shop.pool.query(`update task set payload = '{"to":"se","more":1}' where id = 'b'`);
    }),
  );
  await makeSteps(client, shop.handler);
  const view = (await client.bulk.get(id))!;
  expect(view).toMatchObject({ state: 'done', total: 4, done: 2, skipped: 2, failed: 0 });
  expect(await payloadsOf(client, 'a', 'b', 'c')).toEqual([
    { to: 'se' },
    { to: 'se', more: 1, note: 'n' },
    { to: 'se', note: 'n' },
  ]);
  await client.close();
  expect([await placesOf(shop.pool, 'a'), await placesOf(shop.pool, 'c')]).toEqual([['member'], ['queue']]);
  await forget(shop, 'a', 'd');
});

test('two changes of payloads over the same tasks, and one of their weight, are all made', async () => {
  await open();
  await shop.client.submit('items', items('se', 'a', 'b', 'c'));
  const { client, meanwhile } = interrupted();
  const start = (action: object): Promise<BulkView> =>
    shop.client.bulk.start({ handler: 'items', action: { do: 'update', ...action } });
  const first = await start({ payloadPatch: { note: 'n' } });
  const others = [await start({ payloadPatch: { more: 1 } }), await start({ weight: 9 })];
  // Another worker makes the others while this one encodes what it has read for the first.
  meanwhile(once(() => makeSteps(shop.client, shop.handler)));
  await makeSteps(client, shop.handler);
  for (const { id } of [first, ...others])
    expect(await client.bulk.get(id)).toMatchObject({ state: 'done', total: 3, done: 3, skipped: 0, failed: 0 });
  expect(await payloadsOf(client, 'a', 'c')).toEqual(Array(2).fill({ to: 'se', more: 1, note: 'n' }));
  await client.close();
  const bytes = '{"to":"se","more":1,"note":"n"}'.length;
  expect(await rowsOf(shop, 'b')).toEqual(Array(2).fill({ bytes, weight: 9 }));
});

test('a task that changes again and again meanwhile fails, others get the patch', async () => {
  await open();
  await shop.client.submit('items', items('se', 'a', 'b'));
  const { client, meanwhile } = interrupted();
  const { id } = await client.bulk.start({
    handler: 'items',
    action: { do: 'update', payloadPatch: { note: 'n' } },
  });
  let times = 0;
  meanwhile(() => shop.pool.query(`update task set payload = '{"to":"se","more":${++times}}' where id = 'a'`));
  await makeSteps(client, shop.handler);
  const failures = { 'changed meanwhile: start the action again': 1 };
  expect(await client.bulk.get(id)).toMatchObject({ state: 'done', done: 1, skipped: 0, failed: 1, failures });
  expect(times).toBe(4);
  expect(await payloadsOf(client, 'a', 'b')).toEqual([
    { to: 'se', more: times },
    { to: 'se', note: 'n' },
  ]);
  await client.close();
  await shop.pool.query(`update task set payload = '{"to":"se"}' where id = 'a'`);
});

test('with a codec payloads stay encoded and bound to their tasks, and nothing of the patch is in plain', async () => {
  const schema = z.object({ to: z.string(), note: z.enum(['secret-1', 'secret-2']).optional() }) as never;
  await open({ schema });
  const client = encoding(shop, { payloadCodec: codecOf(`k1:${randomBytes(32).toString('base64')}`) });
  try {
    await client.submit('items', [
      { id: 'a', payload: { to: 'se', note: 'secret-1' } },
      { id: 'b', payload: { to: 'no' } },
      { id: 'torn', payload: { to: 'se' } },
    ]);
    await shop.pool.query(`
update task set payload = (select payload from task where id = 'a') where id = 'torn'`); // of another task
    const view = await patched({ ...shop, client }, { note: 'secret-2' });
    expect(view).toMatchObject({ done: 2, failed: 1, action: { payloadPatch: '{"note":"secret-2"}' } });
    expect(view.failures).toEqual({
      'its payload cannot be decoded: give the worker the codec and object store that it was stored with': 1,
    });
    expect(await payloadsOf(client, 'a', 'b')).toEqual([
      { to: 'se', note: 'secret-2' },
      { to: 'no', note: 'secret-2' },
    ]);
    expect(await rowsOf(shop, 'b')).toEqual(
      Array(2).fill({ bytes: '{"to":"no","note":"secret-2"}'.length, weight: null }),
    );
    const refused = await patched({ ...shop, client }, { note: 'secret-3' }, { id: 'a' });
    expect(refused.failures).toEqual({ 'the handler refuses the new payload: correct the patch': 1 });
    const { rows } = await shop.pool.query<{ all: string }>(
      `select (select json_agg(b)::text from bulk_action b) || (select json_agg(a)::text from audit a)
        || (select json_agg(k)::text from task k) as all`,
    );
    expect(rows[0]!.all).not.toContain('secret');
    // Without the codec nothing is put into an envelope: another worker may have it.
    await expect(patched(shop, { note: 'secret-1' }, { id: 'a' })).rejects.toThrow('no payloadCodec is configured');
    const [waiting] = (await shop.client.bulk.list({ open: true })).actions;
    expect(waiting).toMatchObject({ done: 0, failed: 0, error: expect.stringContaining('no payloadCodec') as string });
  } finally {
    await client.close();
  }
});

test('a dry run encodes what it shows, too, and names what is too large then; it stores nothing', async () => {
  await open({ maxPayloadBytes: 100 });
  await shop.client.submit('items', items('se', 'a'));
  const put = jest.fn();
  const payloadCodec: PayloadCodec = {
    encode: async (payloads) => payloads.map(({ metadata }) => ({ metadata, data: Buffer.alloc(9_000) })),
    decode: async (payloads) => payloads,
  };
  const dryRun = async (options: object): Promise<unknown> => {
    const client = encoding(shop, { payloadCodec, ...options });
    try {
      const action = { do: 'update', payloadPatch: { note: 'n' } } as const;
      return (await client.bulk.dryRun({ handler: 'items', action })).refused;
    } finally {
      await client.close();
    }
  };
  const store = { put, get: jest.fn(), delete: jest.fn() } as unknown as ObjectStore;
  const reason = 'its new payload is too large once it is encoded: raise maxPayloadBytes';
  expect(await dryRun({})).toEqual([{ id: 'a', reason }]);
  expect(await dryRun({ objectStore: { store, overBytes: 50_000 } })).toEqual([{ id: 'a', reason }]);
  expect(await dryRun({ objectStore: { store, overBytes: 8_000 } })).toEqual([]); // it becomes an object
  expect(put).not.toHaveBeenCalled();
  expect((await shop.pool.query('select from unneeded_object')).rowCount).toBe(0);
  // The started action finds the same.
  const client = encoding(shop, { payloadCodec });
  const action = { do: 'update', payloadPatch: { note: 'n' } } as const;
  const { id } = await shop.client.bulk.start({ handler: 'items', action });
  await makeSteps(client, shop.handler);
  await client.close();
  expect(await shop.client.bulk.get(id)).toMatchObject({ done: 0, failures: { [reason]: 1 } });
  expect(await payloadsOf(shop.client, 'a')).toEqual([{ to: 'se' }]);
});

test('a patch that looks encoded is stored as it is, with a codec, an object store and without', async () => {
  await open();
  await shop.client.submit('items', items('se', 'a'));
  const store = { put: jest.fn(), get: jest.fn(), delete: jest.fn() } as unknown as ObjectStore;
  const payloadCodec = codecOf(`k1:${randomBytes(32).toString('base64')}`);
  for (const [i, options] of [{ objectStore: { store } }, { payloadCodec }, {}].entries()) {
    const client = encoding(shop, { ...options, handlers: [shop.handler] });
    const note = `${i} \\[encoded:YWJj] "[encoded:e30=]"`;
    const starter = i === 1 ? client : shop.client;
    const { id } = await starter.bulk.start({ handler: 'items', action: { do: 'update', payloadPatch: { note } } });
    await makeSteps(client, shop.handler);
    const view = (await client.bulk.get(id))!;
    expect([view.done, JSON.parse(String(view.action['payloadPatch']))]).toEqual([1, { note }]);
    expect(await payloadsOf(client, 'a')).toEqual([{ to: 'se', note }]);
    await client.close();
    if (i === 1) await shop.pool.query(`update task set payload = '{"to":"se"}' where id = 'a'`);
  }
});

test('a patch that a program without a codec started is made by a worker with one', async () => {
  await open();
  await shop.client.submit('items', items('se', 'a'));
  const payloadCodec = codecOf(`k1:${randomBytes(32).toString('base64')}`);
  const client = encoding(shop, { payloadCodec, handlers: [shop.handler] });
  const action = { do: 'update', payloadPatch: { note: 'plain' } } as const;
  const { id } = await shop.client.bulk.start({ handler: 'items', action });
  await makeSteps(client, shop.handler);
  expect((await client.bulk.get(id))!.done).toBe(1);
  expect(await payloadsOf(client, 'a')).toEqual([{ to: 'se', note: 'plain' }]);
  await client.close();
});

test('what is no action is refused alike with a codec', async () => {
  await open();
  const client = encoding(shop, { payloadCodec: codecOf(`k1:${randomBytes(32).toString('base64')}`) });
  for (const action of [null, undefined, 5, 'cancel', {}] as never[])
    for (const one of [client, shop.client]) {
      const refused = one.bulk.start({ handler: 'items', action });
      await expect(refused).rejects.toThrow('action.do: expected one of');
    }
  await client.close();
});

test('an object of a large payload is replaced: the new one is kept, the old one is to be deleted', async () => {
  await open();
  const objects = new Map<string, Uint8Array>();
  const store: ObjectStore = {
    put: async (key, data) => void objects.set(key, data),
    get: async (key) => objects.get(key) ?? null,
    delete: async (key) => void objects.delete(key),
  };
  const client = encoding(shop, { objectStore: { store, overBytes: 100 } });
  const big = (fill: string): string => fill.repeat(200);
  try {
    await client.submit('items', [
      { id: 'a', payload: { to: 'se', note: big('x') } },
      { id: 'b', payload: { to: 'se', note: big('x') } },
    ]);
    const [first] = (await shop.pool.query<{ payload: object }>(`select payload from task where id = 'a'`)).rows;
    const { id } = await client.bulk.start({
      handler: 'items',
      action: { do: 'update', payloadPatch: { note: big('y') } },
    });
    await makeBulkStep(client, { handlers: new Map([['items', shop.handler]]) });
    afterChoice(() => cut(shop.pool, ['b']));
    await makeSteps(client, shop.handler);
    expect(await client.bulk.get(id)).toMatchObject({ done: 1, skipped: 1 });
    expect(await payloadsOf(client, 'a', 'b')).toEqual([
      { to: 'se', note: big('y') },
      { to: 'se', note: big('x') },
    ]);
    const { rows } = await shop.pool.query<{ key: string }>('select key from unneeded_object where due_at is not null');
    const due = rows.map(({ key }) => key);
    const replaced = (first as { payload: { $codec: { object: { key: string } } } }).payload.$codec.object.key;
    expect(due).toContain(replaced);
    expect(due).toHaveLength(2); // and that for the task which was claimed
    expect(objects.size).toBe(4);
    // Not at once: it may be read just now, and a backup that is restored has the task with it.
    expect(await countDueObjects(shop.pool)).toBe(0);
    const kept = await shop.pool.query(
      `
select extract(epoch from o.due_at - clock()) * 1000 > h.retention_ms - 60000 as kept
from unneeded_object o cross join handler h where o.key = $1`,
      [replaced],
    );
    expect(kept.rows).toEqual([{ kept: true }]);
  } finally {
    await client.close();
  }
  await forget(shop, 'b');
});
