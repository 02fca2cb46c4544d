import { defaultPayloadConverter } from '@temporalio/common';
import type { Payload, PayloadCodec, PayloadConverter, SerializationContext } from '@temporalio/common';
import { refuseUnreadable } from '../../activities/refuseUnreadable';
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

/** Writes and reads an encoding of its own alone, and keeps what it was asked for. */
class OwnConverter implements PayloadConverter {
  readonly contexts: unknown[] = [];

  toPayload(value: unknown, context?: SerializationContext): Payload {
    this.contexts.push(context);
    return { metadata: { encoding: Buffer.from('json/own') }, data: Buffer.from(`own${JSON.stringify(value)}`) };
  }
  fromPayload<T>({ metadata, data }: Payload, context?: SerializationContext): T {
    this.contexts.push(context);
    const encoding = Buffer.from(metadata?.['encoding'] ?? []).toString();
    if (encoding !== 'json/own') throw new Error(`not mine: ${encoding}`);
    return JSON.parse(String(data).slice('own'.length)) as T;
  }
}

test("a marker is written by the user's converter: of what it refuses, and of what the codec does", async () => {
  const own = new OwnConverter();
  const [mine, foreign] = await new LastResortCodec([], own).decode([own.toPayload(7), json('foreign')]);
  expect(own.fromPayload(mine!)).toBe(7);
  expect(asUnreadable(own.fromPayload(foreign!))).toEqual({
    musterUnreadable: 'not mine: json/plain',
    encoding: 'json/plain',
  });
  const [garbled] = await new LastResortCodec([new EncryptionCodec()], own).decode([json('in clear')]);
  expect(asUnreadable(own.fromPayload(garbled!))).toMatchObject({ encoding: 'json/plain', byCodec: true });
});

test('codecs and converter are told of the workflow, also where payloads are decoded one by one', async () => {
  const context: SerializationContext = { type: 'workflow', namespace: 'default', workflowId: 'w' };
  const own = new OwnConverter();
  const seen: unknown[] = [];
  const codec: PayloadCodec = {
    encode: async (payloads, given) => (seen.push(given), payloads),
    decode: async (payloads, given) => {
      seen.push(given);
      if (payloads.length > 1 || Buffer.from(payloads[0]!.data!).includes('bad')) throw new Error('refused');
      return payloads;
    },
  };
  const both = new LastResortCodec([codec], own);
  await both.encode([json(1)], context);
  expect(seen.splice(0)).toEqual([context]);
  await both.decode([json(1), json('bad')], context);
  expect(seen).toEqual([context, context, context]);
  // The converter refuses the one, the codec the other: both markers are written for the workflow.
  expect(own.contexts).toEqual([context, context, context]);
});

test('an activity that is given such a marker is not run: its caller hears the encoding and the remedy', async () => {
  const codec = new LastResortCodec([], defaultPayloadConverter);
  const foreign = { metadata: { encoding: Buffer.from('json/protobuf') }, data: Buffer.from('{}') };
  const given = (await codec.decode([json('orders'), foreign])).map(read);
  const ran: unknown[][] = [];
  const { submitTasks } = refuseUnreadable({ submitTasks: async (...args: unknown[]) => ran.push(args) });
  await expect(submitTasks(...given)).rejects.toMatchObject({
    ...{ type: 'MusterUnreadable', nonRetryable: true },
    message: expect.stringMatching(/^Cannot read the task: its payload is encoded as json\/protobuf\. Give the worker/),
  });
  await submitTasks('orders', 'a task');
  expect(ran).toEqual([['orders', 'a task']]);
});
