import type { Payload, PayloadConverter } from '@temporalio/common';
import { defaultPayloadConverter } from '@temporalio/common';
import { unreadablePayload } from './unreadablePayload';

/**
 * The SDK's converter, with a last resort: a payload that it cannot read (another client's
 * encoding, a codec that this worker does not have, broken JSON) becomes a marker. A converter that
 * throws fails the workflow task, which the server then repeats without end: one such signal would
 * stop its workflow for every sender. A user's own converter replaces this one, and then
 * `LastResortCodec` does the same.
 */
export const payloadConverter: PayloadConverter = {
  toPayload: (value) => defaultPayloadConverter.toPayload(value),
  fromPayload: <T>(payload: Payload): T => {
    try {
      return defaultPayloadConverter.fromPayload<T>(payload);
    } catch (error) {
      return unreadablePayload(payload, error) as T;
    }
  },
};
