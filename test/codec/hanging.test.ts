import type { EncodedPayload, PayloadCodec } from '../../client';
import { CodecError } from '../../handlers/codec/codecError';
import { Sealer } from '../../handlers/codec/sealer';

/** A codec whose key service takes each question and answers none. */
class Hanging implements PayloadCodec {
  hangs = false;
  asked = 0;

  encode(payloads: EncodedPayload[]): Promise<EncodedPayload[]> {
    return this.answer(payloads);
  }
  decode(payloads: EncodedPayload[]): Promise<EncodedPayload[]> {
    return this.answer(payloads);
  }
  private answer(payloads: EncodedPayload[]): Promise<EncodedPayload[]> {
    this.asked++;
    return this.hangs ? new Promise(() => undefined) : Promise.resolve(payloads);
  }
}

/** How long it may take for a part of a hundred. */
const CALL_MS = 500;

test('of a codec that hangs a batch of a thousand tasks learns after two calls', async () => {
  const codec = new Hanging();
  const sealer = new Sealer(codec, undefined, CALL_MS);
  const ids = Array.from({ length: 1_000 }, (_, i) => `t${i}`);
  const sealed = await sealer.seal(
    'payload',
    ids.map(() => '{"a":1}'),
    ids,
  );
  Object.assign(codec, { hangs: true, asked: 0 });
  const errors = await sealer.open('payload', sealed, ids);
  expect(errors).toHaveLength(ids.length);
  for (const error of errors) expect(error).toBeInstanceOf(CodecError);
  expect(errors.at(-1)).toMatchObject({
    message: `the codec does not work: no answer within ${CALL_MS} ms`,
    away: true,
  });
  expect(codec.asked).toBeLessThan(20); // not once for each task
});
