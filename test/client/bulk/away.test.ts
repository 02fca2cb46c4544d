import type { Client, EncodedPayload, PayloadCodec } from '../../../client';
import { eventually } from '../../helpers/eventually';
import type { Shop } from '../shop';
import { cut, items, openShop, statesOf } from '../shop';
import { makeSteps } from './made';
import { encoding } from './patching';

/**
 * Bulk actions by error while the payload codec does not work, or is not configured.
 *
 * @slow
 */

class Absent implements PayloadCodec {
  away = false;
  encode = (payloads: EncodedPayload[]): Promise<EncodedPayload[]> => this.answer(payloads);
  decode = (payloads: EncodedPayload[]): Promise<EncodedPayload[]> => this.answer(payloads);
  private answer(payloads: EncodedPayload[]): Promise<EncodedPayload[]> {
    return this.away ? Promise.reject(new Error('no key service')) : Promise.resolve(payloads);
  }
}

let shop: Shop;
let codec: Absent;
let client: Client;
beforeEach(async () => {
  shop = await openShop();
  codec = new Absent();
  client = encoding(shop, { payloadCodec: codec });
  await client.submit('items', items('se', 'a', 'b', 'c'));
  const text = await client.sealer!.sealText('the disk is full');
  for (const id of ['a', 'b']) await cut(shop.pool, [id], { state: 3, error: text });
  await cut(shop.pool, ['c'], { state: 3, error: await client.sealer!.sealText('timed out') });
});
afterEach(async () => {
  await client.close();
  await shop.stop();
});

const resolved = { do: 'resolve', as: 'failed' } as const;
const workedOff = (id: string, by: Client): Promise<unknown> =>
  eventually(async () => {
    await makeSteps(by);
    return (await by.bulk.get(id))!.state === 'done';
  });
const endsWell = async (id: string): Promise<void> => {
  await workedOff(id, client);
  expect(await client.bulk.get(id)).toMatchObject({ total: 2, done: 2, skipped: 0, failed: 0 });
  expect(await statesOf(client, 'a', 'b', 'c')).toEqual(['a failed 1', 'b failed 1', 'c unknown 1']);
};

test.each([{ error: 'disk' }, { errorCode: 'full' }, { errorGroup: 'the disk is full' }])(
  'by %j: it waits while the codec is away, says why, and goes on',
  async (where) => {
    const { id } = await client.bulk.start({ handler: 'items', where, action: resolved });
    codec.away = true;
    const why = 'Cannot compare error texts: the codec does not work: no key service';
    await expect(makeSteps(client)).rejects.toThrow(why);
    expect(await shop.client.bulk.get(id)).toMatchObject({ total: 0, done: 0, finishedAt: null });
    expect((await shop.client.bulk.get(id))!.error).toContain(why);
    codec.away = false;
    await endsWell(id);
  },
);

test('it waits, too, where its filter is in plain and the errors of tasks are not', async () => {
  const { id } = await client.bulk.start({ handler: 'items', where: { error: 'disk' }, action: resolved });
  codec.away = true;
  await shop.pool.query(`update bulk_action set filter = filter::jsonb || '{"error":"disk"}'`); // in plain
  await expect(makeSteps(client)).rejects.toThrow('no key service');
  codec.away = false;
  await endsWell(id);
});

test('a worker without the codec leaves it to one that has it', async () => {
  const { id } = await client.bulk.start({ handler: 'items', where: { error: 'disk' }, action: resolved });
  await expect(makeSteps(shop.client)).rejects.toThrow('no payloadCodec is configured here');
  await endsWell(id);
});

test('an action that a program without the codec started waits, too, and its dry run says so', async () => {
  const start = { handler: 'items', where: { error: 'disk' }, action: resolved };
  await expect(shop.client.bulk.dryRun(start)).rejects.toMatchObject({ code: 'CODEC_FAILED' });
  const { id } = await shop.client.bulk.start(start);
  await expect(makeSteps(shop.client)).rejects.toThrow('no payloadCodec is configured here');
  await endsWell(id);
});

test('an error text that only looks encoded holds up nothing', async () => {
  await shop.pool.query(`update outcome set error = 'the disk: [encoded:e30=] [encoded:'`);
  await shop.pool.query(`update batch set error = 'the disk: [encoded:e30=] [encoded:'`);
  const { id } = await shop.client.bulk.start({ handler: 'items', where: { error: 'disk' }, action: resolved });
  await workedOff(id, shop.client);
  expect(await shop.client.bulk.get(id)).toMatchObject({ total: 3, done: 3 });
});
