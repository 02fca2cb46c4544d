import { createClient } from '../../../client';
import type { Client, EncodedPayload, Execution, PayloadCodec } from '../../../client';
import { temporalAddress } from '../../helpers/database';
import { eventually } from '../../helpers/eventually';
import { expectWhole } from '../../helpers/whole';
import type { Fleet } from '../helpers';
import { ended, lists, openFleet, Runs } from '../helpers';

/** The payload codec goes away while nodes have chunks: no item fails because of it. @slow */

class Absent implements PayloadCodec {
  away = false;
  refusals = 0;
  encode = (payloads: EncodedPayload[]): Promise<EncodedPayload[]> => Promise.resolve(payloads);
  decode = (payloads: EncodedPayload[]): Promise<EncodedPayload[]> => {
    if (this.away) this.refusals++;
    if (this.away) return Promise.reject(new Error('no key service'));
    const isPoison = payloads.some(({ data }) => Buffer.from(data!).includes('poison'));
    return isPoison ? Promise.reject(new Error('unknown key k7')) : Promise.resolve(payloads);
  };
}

const runs = new Runs();
let codec: Absent;
let fleet: Fleet;
let client: Client;
beforeEach(async () => {
  runs.all.length = 0;
  codec = new Absent();
  fleet = await openFleet({ echo: runs.echo });
  const options = { databaseUrl: fleet.database.url, handlers: [], prefix: fleet.prefix, payloadCodec: codec };
  client = createClient({ ...options, temporal: { address: temporalAddress() } });
});
afterEach(async () => {
  await client.close();
  await fleet.stop();
});

const start = (input: string[][], maxAttempts = 7): Promise<Execution> =>
  client.execute({ functionId: 'echo', method: 'run' }, input, { maxAttempts });
/** As many as an item that counted them would have most of its attempts for. */
const manyRefusals = (): Promise<unknown> => eventually(() => codec.refusals >= 12);
const attemptsOf = async (execution: Execution): Promise<number[]> => {
  const attempts: number[] = [];
  for await (const item of execution.items()) attempts.push(item.attempts);
  return attempts;
};

test('items wait at no attempt while the codec is away, then run; one that it refuses fails alone', async () => {
  const execution = await start([...lists(3), ['poison']]);
  codec.away = true;
  await fleet.node({}, { payloadCodec: codec });
  await manyRefusals();
  expect(await execution.status()).toMatchObject({ counts: { failed: 0, permanentlyFailed: 0 } });
  codec.away = false;
  expect(await ended(execution)).toMatchObject({ counts: { done: 3, permanentlyFailed: 1 } });
  expect(await attemptsOf(execution)).toEqual([1, 1, 1, 7]);
  expect(runs.all).toHaveLength(3);
  await expectWhole(fleet.client);
});

test('a node that stops while the codec is away gives its items back, at no attempt', async () => {
  const execution = await start(lists(2));
  codec.away = true;
  const stop = await fleet.node({}, { payloadCodec: codec });
  await manyRefusals();
  await stop();
  expect(await execution.status()).toMatchObject({ counts: { created: 2, inProgress: 0, failed: 0 } });
  codec.away = false;
  expect(await attemptsOf(execution)).toEqual([0, 0]);
  await execution.cancel();
});

test('an execution that is cancelled while the codec is away leaves its node', async () => {
  const execution = await start(lists(2));
  codec.away = true;
  const stop = await fleet.node({}, { payloadCodec: codec });
  await manyRefusals();
  await execution.cancel();
  await eventually(async () => (await execution.chunks()).every(({ state }) => state === 'closed'));
  await stop();
});
