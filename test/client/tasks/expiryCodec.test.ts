import { setTimeout as sleep } from 'node:timers/promises';
import type { EncodedPayload, PayloadCodec } from '../../../client';
import { expireSome } from '../../../client/operations/expire';
import { ConstantText } from '../../../handlers/codec/constantText';
import { Sealer } from '../../../handlers/codec/sealer';
import { eventually } from '../../helpers/eventually';
import type { Shop } from '../shop';
import { broken, openShop, statesOf } from '../shop';

/** Tasks that expire while the payload codec does not answer. */

/** A codec that answers when the test says so. */
class Slow implements PayloadCodec {
  asked = 0;
  answer: Promise<unknown> = Promise.resolve();

  async encode(payloads: EncodedPayload[]): Promise<EncodedPayload[]> {
    this.asked++;
    await this.answer;
    return payloads.map(({ metadata, data }) => ({ metadata: { ...metadata, by: Buffer.from('slow') }, data }));
  }
  decode(payloads: EncodedPayload[]): Promise<EncodedPayload[]> {
    return Promise.resolve(payloads);
  }
}

let shop: Shop;
let codec: Slow;
let sealer: Sealer;
beforeEach(async () => {
  shop = await openShop();
  codec = new Slow();
  sealer = new Sealer(codec, undefined);
});
afterEach(async () => {
  const found = await broken(shop.client);
  await shop.stop();
  expect(found).toEqual({});
});

const expire = (): Promise<number> =>
  expireSome(Object.create(shop.client, { sealer: { value: sealer } }) as Shop['client'], () => undefined);
/** These wait, and their time has passed. */
const submitExpired = async (...ids: string[]): Promise<void> => {
  await shop.client.submit(
    'items',
    ids.map((id) => ({ id, payload: { to: 'se' }, expiresAt: '2099-01-01T00:00:00Z' })),
  );
  await shop.pool.query(`update expiry set at = clock() - interval '1 s'`);
};
const errorOf = async (id: string): Promise<string> => {
  const text = 'select error from outcome join task using (seq) where id = $1';
  const { rows } = await shop.pool.query<{ error: string }>({ text, values: [id] });
  return rows[0]!.error;
};

test('while the codec hangs, expiries wait and their look does not; it is asked once for all of them', async () => {
  let answer = (): void => undefined;
  codec.answer = new Promise<void>((resolve) => (answer = resolve));
  await submitExpired('a');
  const late = sleep(5_000, 'the look waits', { ref: false });
  expect(await Promise.race([expire(), late])).toBe(0);
  expect(await Promise.race([expire(), late])).toBe(0);
  expect(await statesOf(shop.client, 'a')).toEqual(['a created 0']);
  answer();
  await eventually(async () => (await expire()) === 1);
  await submitExpired('b', 'c');
  expect(await expire()).toBe(2);
  expect(await statesOf(shop.client, 'a', 'b', 'c')).toEqual(['a failed 0', 'b failed 0', 'c failed 0']);
  const errors = [await errorOf('a'), await errorOf('b')];
  for (const error of errors) expect(error).not.toContain('waiting');
  const text = 'Expired: it was still waiting when its expiresAt had passed.';
  expect(await sealer.openTexts(errors)).toEqual([text, text]);
  expect(codec.asked).toBe(1);
});

test('a codec that fails is asked again, and until it answers each look says why it did not', async () => {
  codec.answer = Promise.reject(new Error('no key today'));
  codec.answer.catch(() => undefined);
  await submitExpired('a');
  await eventually(() =>
    expire().then(
      () => false,
      (error: Error) => error.message.includes('no key today'),
    ),
  );
  await expect(expire()).rejects.toThrow('no key today');
  expect(await statesOf(shop.client, 'a')).toEqual(['a created 0']);
  codec.answer = Promise.resolve();
  await eventually(() =>
    expire().then(
      (looked) => looked === 1,
      () => false,
    ),
  );
  expect(await statesOf(shop.client, 'a')).toEqual(['a failed 0']);
});

test('it is encoded again after an hour, and the old text is used until the new one is there', async () => {
  let ms = 0;
  let asked = 0;
  const text = new ConstantText(
    () => Promise.resolve(`key ${++asked}`),
    () => ms,
  );
  expect(text.get()).toBeNull();
  await eventually(() => text.get() === 'key 1');
  ms = 3_600_000;
  expect(text.get()).toBe('key 1');
  await eventually(() => text.get() === 'key 2');
  ms += 7_200_000;
  expect(text.get()).toBeNull(); // its key may be gone
  await eventually(() => text.get() === 'key 3');
});
