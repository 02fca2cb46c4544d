import { createHmac, timingSafeEqual } from 'node:crypto';

/**
 * The key of the tokens by which a downstream may complete a batch over HTTP: every caller with the
 * batch's URL may. The token in the URL is a MAC of the batch's number under the installation's
 * secret.
 */
export interface CallbackKey {
  /** The same in every worker that makes calls or listens. */
  secret: string;
  /** The store's installation: a URL of one is invalid in another with the same secret. */
  installation: string;
}

export const CALLBACK_PATH = '/callbacks';

export const callbackToken = ({ secret, installation }: CallbackKey, batchId: number): string =>
  createHmac('sha256', secret).update(`muster callback\n${installation}\n${batchId}`).digest('base64url');

/** Checks a token in constant time. */
export const isCallbackToken = (key: CallbackKey, batchId: number, token: string): boolean => {
  const expected = Buffer.from(callbackToken(key, batchId));
  const given = Buffer.from(token);
  return expected.length === given.length && timingSafeEqual(expected, given);
};

/**
 * Returns a batch's callback URL. Never log it: anyone who has it may complete the batch. `base` is
 * the address under which downstreams reach a worker.
 */
export const callbackUrl = (base: string, key: CallbackKey, batchId: number): string =>
  `${base.replace(/\/+$/, '')}${CALLBACK_PATH}/${batchId}/${callbackToken(key, batchId)}`;
