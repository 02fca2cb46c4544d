import { randomBytes } from 'node:crypto';
import type { CodecContext, EncodedPayload } from '../../client';
import { defineHandler } from '../../client';
import { codecOf } from '../../examples/codec/aesGcmCodec';
import type { Sealer } from '../../handlers/codec/sealer';
import { sealerOf } from '../../handlers/codec/sealer';
import type { ValueKind } from '../../handlers/codec/types';
import type { TestMuster } from '../helpers/muster';
import { startMuster } from '../helpers/muster';
import { expectWhole } from '../helpers/whole';

/** A stored value belongs to its task: the example's codec refuses one that was moved. */

const codec = codecOf(`k1:${randomBytes(32).toString('base64')}`);
const moved = (kind: ValueKind, id: string): string =>
  `the codec refuses it: it was not encrypted as the ${kind} of task "${id}": it was moved here or changed`;

describe('a sealer', () => {
  const sealer = sealerOf({ payloadCodec: codec })!;
  const reasons = (opened: Awaited<ReturnType<Sealer['open']>>) =>
    opened.map((one) => (typeof one === 'string' ? one : one.message));

  test.each<ValueKind>(['payload', 'metadata', 'result'])('%s: is decoded of its own task only', async (kind) => {
    const sealed = await sealer.seal(kind, ['1', '2', '3'], ['a', 'b', null]);
    expect(await sealer.open(kind, sealed, ['a', 'b', 'c'])).toEqual(['1', '2', '3']);
    const swapped = [sealed[1]!, sealed[0]!, sealed[2]!];
    expect(reasons(await sealer.open(kind, swapped, ['a', 'b', 'c']))).toEqual([
      moved(kind, 'a'),
      moved(kind, 'b'),
      '3',
    ]);
    expect(reasons(await sealer.open(kind, sealed, null))[0]).toMatch(/^the codec refuses it: it was not encrypted as/);
  });

  test('a value of another kind is refused, also where it is of no single task', async () => {
    const [own, shared] = await sealer.seal('payload', ['1', '2'], ['a', null]);
    expect(reasons(await sealer.open('result', [own!], ['a']))).toEqual([moved('result', 'a')]);
    expect(reasons(await sealer.open('result', [shared!], ['a']))).toEqual([moved('result', 'a')]);
    expect(reasons(await sealer.open('payload', [shared!], ['a']))).toEqual(['2']);
  });

  test('a value without its mark, or with another one, is refused', async () => {
    const [sealed] = await sealer.seal('payload', ['1'], ['a']);
    const unmarked = JSON.parse(sealed!) as { $codec: { metadata: Record<string, string> } };
    for (const mark of [undefined, 'kind', 'else']) {
      const { bound: _, ...metadata } = unmarked.$codec.metadata;
      const bound = mark === undefined ? {} : { bound: Buffer.from(mark).toString('base64') };
      const forged = JSON.stringify({ $codec: { ...unmarked.$codec, metadata: { ...metadata, ...bound } } });
      for (const id of ['a', 'b'])
        expect([mark, ...reasons(await sealer.open('payload', [forged], [id]))]).toEqual([mark, moved('payload', id)]);
    }
  });

  test('a value from before values were bound is decoded', async () => {
    const [old] = await codec.encode([{ metadata: { encoding: Buffer.from('json/plain') }, data: Buffer.from('1') }]);
    const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');
    const metadata = Object.entries(old!.metadata!).map(([name, bytes]) => [name, text(bytes)]);
    const stored = JSON.stringify({
      $codec: { metadata: Object.fromEntries(metadata) as object, data: text(old!.data!) },
    });
    expect(await sealer.open('payload', [stored], ['a'])).toEqual(['1']);
  });

  test('each value of a long list has the id of its own task, and a codec without use for it works', async () => {
    const seen: [string, string | null][] = [];
    const see = async (payloads: EncodedPayload[], context?: unknown) => {
      const { taskIds } = context as CodecContext;
      expect(taskIds.length).toBe(payloads.length);
      payloads.forEach(({ data }, i) => seen.push([Buffer.from(data!).toString(), taskIds[i]!]));
      return payloads;
    };
    const watched = sealerOf({ payloadCodec: { encode: see, decode: see } })!;
    const ids = Array.from({ length: 250 }, (_, i) => String(i));
    const sealed = await watched.seal('payload', ids, ids);
    // Plain ones among them do not shift the others.
    const stored = sealed.map((value, i) => (i % 3 === 0 ? ids[i]! : value));
    expect(await watched.open('payload', stored, ids)).toEqual(ids);
    expect(seen.length).toBe(250 + 166);
    for (const [value, id] of seen) expect(id).toBe(value);
  });

  test('a reference to the object of another task is refused, too', async () => {
    const objects = new Map<string, Uint8Array>();
    const store = {
      put: async (key: string, data: Uint8Array) => void objects.set(key, data),
      get: async (key: string) => objects.get(key) ?? null,
    };
    const claiming = sealerOf({ payloadCodec: codec, objectStore: { store, overBytes: 1_024 } })!;
    const long = JSON.stringify('x'.repeat(2_000));
    const sealed = await claiming.seal('payload', [long, long], ['a', 'b']);
    expect(objects.size).toBe(2);
    expect(await claiming.open('payload', sealed, ['a', 'b'])).toEqual([long, long]);
    expect(reasons(await claiming.open('payload', sealed.toReversed(), ['a', 'b']))).toEqual([
      moved('payload', 'a'),
      moved('payload', 'b'),
    ]);
  });
});

describe('in the store', () => {
  const sent: string[] = [];
  const orders = defineHandler<{ to: string }>({
    name: 'orders',
    target: ({ to }) => to,
    limits: { maxItems: 10 },
    linger: { lingerMs: 50 },
    retry: { maxAttempts: 2, delayed: { baseMs: 50, maxMs: 100 } },
    submit: async ({ tasks }) => {
      sent.push(...tasks.map(({ id }) => id));
      return { results: tasks.map(({ id }) => ({ id, status: 'ok' as const, result: { of: id } })) };
    },
  });
  let muster: TestMuster;
  beforeAll(async () => {
    muster = await startMuster([orders], { payloadCodec: codec });
  });
  afterAll(() => muster.stop());
  const swap = (table: string, column: string, key: string) =>
    muster.database.pool.query(`
      update ${table} x set ${column} = y.${column}
      from ${table} y, task a, task b
      where a.id = 'a' and b.id = 'b' and (x.${key}, y.${key}) in ((a.seq, b.seq), (b.seq, a.seq))`);
  const ended = (ids: string[]) => muster.client.waitFor(ids, { timeoutMs: 30_000 });

  test('a swapped payload is not sent, and says so; its mate is', async () => {
    await muster.client.handlers.pause('orders');
    await muster.client.submit(
      'orders',
      ['a', 'b', 'c'].map((id) => ({ id, payload: { to: 'x' }, metadata: { of: id } })),
    );
    expect(await muster.client.tasks.get('a')).toMatchObject({ payload: { to: 'x' }, metadata: { of: 'a' } });
    expect((await swap('task', 'payload', 'seq')).rowCount).toBe(2);
    expect((await swap('task_label', 'metadata', 'seq')).rowCount).toBe(2);
    expect(await muster.client.tasks.get('a')).toMatchObject({
      encoded: { payload: moved('payload', 'a'), metadata: moved('metadata', 'a') },
    });
    // A repeat cannot be compared with it.
    await expect(muster.client.submit('orders', { id: 'a', payload: { to: 'x' } })).rejects.toMatchObject({
      code: 'CODEC_FAILED',
      message: expect.stringContaining(moved('payload', 'a')),
    });
    await muster.client.handlers.resume('orders');
    const all = await ended(['a', 'b', 'c']);
    expect(all.map(({ state }) => state)).toEqual(['dead', 'dead', 'succeeded']);
    expect(all[0]!.error).toBe(`not sent: the payload of task "a" cannot be decoded: ${moved('payload', 'a')}`);
    expect(sent).toEqual(['c']);
  });

  test('swapped back and redriven they are sent; a swapped result is refused', async () => {
    await swap('task', 'payload', 'seq');
    await swap('task_label', 'metadata', 'seq');
    await muster.client.tasks.redrive('orders', { only: 'dead' });
    expect((await ended(['a', 'b'])).map(({ result }) => result)).toEqual([{ of: 'a' }, { of: 'b' }]);
    await muster.database.pool.query(`
      update result_page set results = json_build_array(
        json_build_array(0, results->1->1), json_build_array(1, results->0->1))
      where json_array_length(results) = 2`);
    const views = await muster.client.tasks.lookUp(['a', 'b', 'c']);
    expect(views.map(({ encoded }) => encoded)).toEqual([
      { result: moved('result', 'a') },
      { result: moved('result', 'b') },
      undefined,
    ]);
    expect(views[2]!.result).toEqual({ of: 'c' });
  });

  test('nothing else in the store is against its rules', () => expectWhole(muster.client));
});
