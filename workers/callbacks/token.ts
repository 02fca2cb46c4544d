import { createHmac, timingSafeEqual } from 'node:crypto';

/**
 * The key of the tokens by which a downstream may complete a batch over HTTP: every caller with the
 * batch's URL may. The token in the URL is a MAC, under
 * the installation's secret, of the batch's number and of the microsecond in which it was created:
 * after a restored backup the number alone names another batch.
 */
export interface CallbackKey {
  /** The same in every worker that makes calls or listens. */
  secret: string;
  /** The store's installation: a URL of one is invalid in another with the same secret. */
  installation: string;
}

/** The batch that a URL is of. */
export interface CallbackBatch {
  id: number;
  /** Unix microseconds. */
  createdUs: number;
}

const CALLBACK_PATH = '/callbacks';
const PATH = new RegExp(`${CALLBACK_PATH}/(\\d{1,15})\\.(\\d{1,16})/([A-Za-z0-9_-]{1,100})/?$`);

const callbackToken = ({ secret, installation }: CallbackKey, { id, createdUs }: CallbackBatch): string =>
  createHmac('sha256', secret).update(`muster callback\n${installation}\n${id}\n${createdUs}`).digest('base64url');

/** Checks a token in constant time. */
export const isCallbackToken = (key: CallbackKey, batch: CallbackBatch, token: string): boolean => {
  const expected = Buffer.from(callbackToken(key, batch));
  const given = Buffer.from(token);
  return expected.length === given.length && timingSafeEqual(expected, given);
};

/**
 * Returns a batch's callback URL. Never log it: anyone who has it may complete the batch. `base` is
 * the address under which downstreams reach a worker.
 */
export const callbackUrl = (base: string, key: CallbackKey, batch: CallbackBatch): string =>
  `${base.replace(/\/+$/, '')}${CALLBACK_PATH}/${batch.id}.${batch.createdUs}/${callbackToken(key, batch)}`;

/** Reads the path of such a URL; null: it is none. The token is not compared yet. */
export const readCallbackPath = (path: string): { batch: CallbackBatch; token: string } | null => {
  const [, id, createdUs, token] = PATH.exec(path) ?? [];
  if (id === undefined || createdUs === undefined || token === undefined) return null;
  return { batch: { id: Number(id), createdUs: Number(createdUs) }, token };
};
