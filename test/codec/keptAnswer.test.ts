import type { EncodedPayload } from '../../client';
import { Sealer } from '../../handlers/codec/sealer';
import { problemOf } from '../../workers/api/errors';
import { once, requestHash } from '../../workers/api/idempotency';
import type { KeyedAnswer } from '../../workers/api/idempotency';
import type { TestDatabase } from '../helpers/database';
import { createDatabase } from '../helpers/database';

/** The kept answer to an Idempotency-Key, where a codec encodes it. */

let database: TestDatabase;
beforeAll(async () => {
  database = await createDatabase();
});
afterAll(() => database.drop());

test('a repeat while the codec is away is refused with 503, and answered once the codec works', async () => {
  let away = false;
  const pass = async (payloads: EncodedPayload[]): Promise<EncodedPayload[]> => {
    if (away) throw new Error('no key service');
    return payloads;
  };
  const sealer = new Sealer({ encode: pass, decode: pass }, undefined);
  const keyed = { caller: 1, route: 'r', key: 'k', request: requestHash('/v1/x', null) };
  let times = 0;
  const ask = (by: Sealer | null = sealer): Promise<KeyedAnswer> =>
    once(
      database.pool,
      keyed,
      () => {
        times++;
        return Promise.resolve({ status: 201, text: '{"id":"1"}', isKept: true });
      },
      by,
    );
  expect(await ask()).toEqual({ status: 201, text: '{"id":"1"}', replayed: false });
  away = true;
  const refused = await ask().then(
    () => null,
    (error: unknown) => problemOf(error).body(),
  );
  expect(refused).toMatchObject({
    type: 'urn:muster:problem:unavailable',
    status: 503,
    code: 'CODEC_FAILED',
    retryAfterS: 1,
    detail:
      'Cannot read the answer to this Idempotency-Key: the codec does not work: no key service. ' +
      'The request was done before, and nothing was done now: repeat it once the codec works.',
  });
  away = false;
  // A codec that lacks the key of what was kept.
  const decode = async (payloads: EncodedPayload[]): Promise<EncodedPayload[]> => {
    if (payloads.some(({ data }) => String(Buffer.from(data!)).includes('id'))) throw new Error('unknown key k7');
    return payloads;
  };
  await expect(ask(new Sealer({ encode: pass, decode }, undefined))).rejects.toMatchObject({ code: 'CODEC_FAILED' });
  await expect(ask(null)).rejects.toThrow('it is encoded, and no payloadCodec is configured here');
  expect(await ask()).toEqual({ status: 201, text: '{"id":"1"}', replayed: true });
  expect(times).toBe(1);
});
