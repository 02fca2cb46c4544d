import type { EncodedPayload, PayloadCodec } from '../../client';
import { defineHandler } from '../../handlers';
import type { TestMuster } from '../helpers/muster';
import { startMuster } from '../helpers/muster';
import { expectWhole } from '../helpers/whole';

/** With a payload codec, the key is computed before it encodes, and ids in errors stay readable. */

interface Update {
  to: string;
  doc: string;
  text: string;
}
const sent: Update[][] = [];
const updates = defineHandler<Update>({
  name: 'updates',
  target: ({ to }) => to,
  coalesceBy: ({ doc }) => doc,
  limits: { maxItems: 50 },
  linger: { lingerMs: 50 },
  submit: async ({ tasks }) => {
    sent.push(tasks.map(({ payload }) => payload));
    return { results: tasks.map(({ id }) => ({ id, status: 'ok' as const })) };
  },
});
/** No two encodings of a value are equal, as with encryption. */
let salt = 0;
const payloadCodec: PayloadCodec = {
  encode: async (values) =>
    values.map(({ data }): EncodedPayload => ({ data: Buffer.from([++salt, ...data!.map((byte) => byte ^ 7)]) })),
  decode: async (values) =>
    values.map(({ data }): EncodedPayload => ({ data: data!.subarray(1).map((byte) => byte ^ 7) })),
};

let muster: TestMuster;
beforeAll(async () => {
  muster = await startMuster([updates], { payloadCodec });
});
afterAll(() => muster.stop());

test('equal keys are equal, and what is superseded shows its payload and why', async () => {
  const { client, database } = muster;
  await client.pause('updates');
  const update = (id: string, text: string) => ({ id, payload: { to: 'x', doc: 'one', text } });
  await client.submit('updates', [update('u1', 'first'), update('u2', 'second')]);
  const { rows } = await database.pool.query<{ text: string }>('select payload::text as text from task');
  expect(rows.map(({ text }) => text.includes('first') || text.includes('second'))).toEqual([false, false]);
  await client.resume('updates');
  await client.waitFor(['u1', 'u2'], { timeoutMs: 60_000 });
  expect(sent).toEqual([[update('u2', 'second').payload]]);
  expect(await client.getTask('u1')).toMatchObject({
    ...{ state: 'cancelled', error: 'superseded by task u2' },
    payload: { text: 'first' },
  });
  await expectWhole(client);
});
