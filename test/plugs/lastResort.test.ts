import { defaultPayloadConverter } from '@temporalio/common';
import type { Payload, PayloadCodec } from '@temporalio/common';
import { asUnreadable } from '../../workflows/planning/unreadable';
import { LastResortCodec } from '../../workers/temporal/lastResortCodec';
import { EncryptionCodec } from './codec';

const json = (value: unknown): Payload => defaultPayloadConverter.toPayload(value);
const read = (payload: Payload): unknown => defaultPayloadConverter.fromPayload(payload);
/** Puts its sign around what it encodes, and takes it off again. */
const wrapping = (sign: string): PayloadCodec => ({
  encode: (payloads) =>
    Promise.resolve(payloads.map((one) => ({ ...one, data: Buffer.from(`${sign}${String(one.data)}`) }))),
  decode: async (payloads) =>
    payloads.map((one) => {
      if (!String(one.data).startsWith(sign)) throw new Error(`no ${sign}`);
      return { ...one, data: Buffer.from(String(one.data).slice(sign.length)) };
    }),
});

test('codecs are called in their order, and the other way round', async () => {
  const codec = new LastResortCodec([wrapping('a'), wrapping('b')], null);
  const [encoded] = await codec.encode([json(1)]);
  expect(String(encoded!.data)).toMatch(/^ba/);
  expect((await codec.decode([{ ...json(1), data: Buffer.from('ba7') }])).map(read)).toEqual([7]);
});

test('of several payloads, those that the codec refuses become markers, with their encoding; the others are read', async () => {
  const codec = new LastResortCodec([new EncryptionCodec()], null);
  const [first, last] = await codec.encode([json('first'), json('last')]);
  const garbled = { ...last!, data: Buffer.from(last!.data!).fill(0) };
  const [a, b, c, d] = (await codec.decode([first!, json('in clear'), garbled, last!])).map(read);
  expect([a, d]).toEqual(['first', 'last']);
  expect(asUnreadable(b)).toEqual({
    musterUnreadable: 'not encrypted: json/plain',
    encoding: 'json/plain',
    byCodec: true,
  });
  expect(asUnreadable(c)).toMatchObject({ encoding: 'binary/encrypted', byCodec: true });
  expect(await codec.decode([])).toEqual([]);
});

test("a user's payload converter without a codec: what it throws over becomes a marker that it reads", async () => {
  const codec = new LastResortCodec([], defaultPayloadConverter);
  const foreign = { metadata: { encoding: Buffer.from('json/protobuf') }, data: Buffer.from('{}') };
  const [unread, one] = (await codec.decode([foreign, json(1)])).map(read);
  expect(asUnreadable(unread)).toMatchObject({ encoding: 'json/protobuf' });
  expect(asUnreadable(unread)).not.toHaveProperty('byCodec');
  expect(one).toBe(1);
});
