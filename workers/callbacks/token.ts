import { createHmac, timingSafeEqual } from 'node:crypto';

/**
 * Who may complete a batch by HTTP (H7): whoever was given its URL. The token in it is a MAC of the
 * batch's number under the installation's secret.
 */
export interface CallbackKey {
  /** The same in every worker that makes calls or listens. */
  secret: string;
  /** Of the store: a URL of one installation is nothing in another with the same secret. */
  installation: string;
}

export const CALLBACK_PATH = '/callbacks';

export const callbackToken = ({ secret, installation }: CallbackKey, batchId: number): string =>
  createHmac('sha256', secret).update(`muster callback\n${installation}\n${batchId}`).digest('base64url');

/** In constant time. */
export const isCallbackToken = (key: CallbackKey, batchId: number, token: string): boolean => {
  const expected = Buffer.from(callbackToken(key, batchId));
  const given = Buffer.from(token);
  return expected.length === given.length && timingSafeEqual(expected, given);
};

/**
 * Never log it: whoever has it may complete the batch. `base` is the address under which
 * downstreams reach a worker.
 */
export const callbackUrl = (base: string, key: CallbackKey, batchId: number): string =>
  `${base.replace(/\/+$/, '')}${CALLBACK_PATH}/${batchId}/${callbackToken(key, batchId)}`;
