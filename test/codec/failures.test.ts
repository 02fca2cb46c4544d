import { randomBytes } from 'node:crypto';
import { createClient, defineHandler } from '../../client';
import type { EncodedPayload, PayloadCodec } from '../../client';
import { AesGcmCodec, codecOf } from '../../examples/codec/aesGcmCodec';
import type { TestMuster } from '../helpers/muster';
import { startMuster } from '../helpers/muster';
import { eventually } from '../helpers/eventually';
import { expectWhole } from '../helpers/whole';
import { NO_TEMPORAL } from '../helpers/database';

/** @slow */

/** A codec that fails: as a whole, for one value, or by making values large. */
class Failing implements PayloadCodec {
  away = false;
  encodesNothing = false;
  grows = 1;
  calls = 0;
  atOnce = 0;
  most = 0;

  async encode(payloads: EncodedPayload[]): Promise<EncodedPayload[]> {
    if (this.away || this.encodesNothing) throw new Error('no key service');
    return payloads.map(({ data }) => ({ data: Buffer.from(Buffer.from(data!).toString().repeat(this.grows)) }));
  }

  async decode(payloads: EncodedPayload[]): Promise<EncodedPayload[]> {
    this.calls++;
    this.most = Math.max(this.most, ++this.atOnce);
    await new Promise((resolve) => setImmediate(resolve));
    this.atOnce--;
    if (this.away) throw new Error('no key service');
    if (payloads.some(({ data }) => Buffer.from(data!).includes('poison'))) throw new Error('unknown key k7');
    return payloads;
  }
}

const codec = new Failing();
const sent: string[][] = [];
const orders = defineHandler<{ to: string; text: unknown }>({
  name: 'orders',
  target: ({ to }) => to,
  limits: { maxItems: 1_000 },
  linger: { lingerMs: 300 },
  maxPayloadBytes: 2_000,
  retry: { maxAttempts: 2, delayed: { baseMs: 50, maxMs: 100 } },
  submit: async ({ tasks }) => {
    sent.push(tasks.map(({ id }) => id));
    return { results: tasks.map(({ id, payload }) => ({ id, status: 'ok' as const, result: payload.text })) };
  },
});
const task = (id: string, to: string, text: unknown = id) => ({ id, payload: { to, text } });
const LIMIT = { timeoutMs: 60_000 };

let muster: TestMuster;
beforeAll(async () => {
  muster = await startMuster([orders], { payloadCodec: codec });
});
afterAll(async () => {
  await expectWhole(muster.client);
  await muster.stop();
});
const ids = (prefix: string, n: number): string[] => Array.from({ length: n }, (_, i) => `${prefix}-${i}`);

test('a task that cannot be decoded dies alone, and its mates are sent at their first attempt', async () => {
  const mates = ids('mate', 7);
  await muster.client.submit('orders', [...mates.map((id) => task(id, 'one')), task('bad', 'one', 'poison')]);
  const ended = await muster.client.waitFor([...mates, 'bad'], LIMIT);
  expect(ended.slice(0, 7).map(({ state, attempts }) => [state, attempts])).toEqual(mates.map(() => ['succeeded', 1]));
  expect(ended[7]).toMatchObject({
    state: 'dead',
    error: 'not sent: the payload of task "bad" cannot be decoded: the codec refuses it: unknown key k7',
    encoded: { payload: 'the codec refuses it: unknown key k7' },
  });
  expect(sent.flat()).not.toContain('bad');
});

test('while the key service is away tasks wait without a counted attempt, and then they are sent', async () => {
  await muster.client.submit(
    'orders',
    ids('wait', 3).map((id) => task(id, 'away')),
  );
  codec.away = true;
  const { pool } = muster.database;
  await eventually(async () => {
    const { rows } = await pool.query(`select from batch b where b.refusals >= 2 and b.state = 1 and b.counted = 0`);
    return rows.length > 0;
  });
  codec.away = false;
  const ended = await muster.client.waitFor(ids('wait', 3), LIMIT);
  expect(ended.map(({ state, attempts }) => [state, attempts])).toEqual(ids('wait', 3).map(() => ['succeeded', 1]));
});

test('what cannot be encoded is refused before anything is written', async () => {
  codec.encodesNothing = true;
  const refused = muster.client.submit('orders', [task('never', 'nowhere')]);
  await expect(refused).rejects.toMatchObject({
    code: 'CODEC_FAILED',
    message: expect.stringMatching(/no key service/),
  });
  codec.encodesNothing = false;
  expect(await muster.client.getTask('never')).toBeNull();
  const { rows } = await muster.database.pool.query(`select from target where key = 'nowhere'`);
  expect(rows).toEqual([]);
});

test('a payload that is too large once it is encoded is refused, and with partial only that one', async () => {
  codec.grows = 10;
  const [small, large] = [task('small', 'size', 'x'), task('large', 'size', 'x'.repeat(700))];
  const refused = { code: 'PAYLOAD_TOO_LARGE', message: expect.stringMatching(/8096 bytes once it is encoded/) };
  await expect(muster.client.submit('orders', [large])).rejects.toMatchObject(refused);
  const some = await muster.client.submit('orders', [small, large], { partial: true });
  expect(some).toMatchObject({ accepted: 1, refused: [{ id: 'large', ...refused }] });
  codec.grows = 1;
  await muster.client.cancel('small');
});

test('1,000 payloads of a batch are decoded in 10 calls, at most 4 of them at once', async () => {
  await muster.client.submit(
    'orders',
    ids('many', 1_000).map((id) => task(id, 'many')),
  );
  Object.assign(codec, { calls: 0, most: 0 });
  await eventually(() => sent.flat().includes('many-999'));
  expect([codec.calls <= 12, codec.most]).toEqual([true, 4]);
  await muster.client.waitFor(ids('many', 1_000), LIMIT);
});

test('a value in the form of an encoded one is refused, and with a codec it is a value like any other', async () => {
  const forged = { $codec: { metadata: {}, data: '' } };
  await muster.client.submit('orders', [task('forged', 'forged', forged)]);
  const [ended] = await muster.client.waitFor('forged', LIMIT);
  expect(ended).toMatchObject({ payload: { text: forged }, result: forged, state: 'succeeded' });
  const any = defineHandler<unknown>({
    name: 'any',
    target: () => 'x',
    limits: { maxItems: 1 },
    submit: () => Promise.reject(new Error('never')),
  });
  const plain = createClient({
    databaseUrl: muster.database.url,
    handlers: [any],
    prefix: muster.prefix,
    temporal: NO_TEMPORAL,
  });
  const refused = { code: 'INVALID_PAYLOAD', message: expect.stringMatching(/\$codec/) };
  await expect(plain.submit('any', { id: 'bare', payload: forged })).rejects.toMatchObject(refused);
  await plain.close();
});

const key = (): string => randomBytes(32).toString('base64');

test('the example decodes with old keys and encodes with the newest', async () => {
  const [first, second] = [`k1:${key()}`, `k2:${key()}`];
  const plain = { metadata: { encoding: Buffer.from('json/plain') }, data: Buffer.from('{"a":1}') };
  const [old] = await codecOf(first).encode([plain]);
  const rotated = codecOf(`${second},${first}`);
  const [fresh] = await rotated.encode([plain]);
  expect(Buffer.from(fresh!.metadata!['encryption-key-id']!).toString()).toBe('k2');
  for (const decoded of await rotated.decode([old!, fresh!]))
    expect(Buffer.from(decoded.data!).toString()).toBe('{"a":1}');
  await expect(codecOf(second).decode([old!])).rejects.toThrow('there is no key k1 here');
  const changed = { ...fresh!, data: Buffer.from(fresh!.data!).fill(0) };
  await expect(rotated.decode([changed])).rejects.toThrow();
  expect(() => new AesGcmCodec(new Map([['k1', Buffer.from('short')]]), 'k1')).toThrow('expected 32 bytes');
});
