import { createHmac, timingSafeEqual } from 'node:crypto';
import { DAY_MS } from '../../workflows/planning/duration';

/**
 * The key of the tokens by which a downstream may complete a batch over HTTP: every caller with the
 * batch's URL may. The token in the URL is a MAC, under
 * the installation's secret, of the batch's number, of the microsecond in which it was created
 * (after a restored backup the number alone names another batch), and of the second in which the
 * URL expires.
 */
export interface CallbackKey {
  /**
   * The same in every worker that makes calls or listens. The first signs; URLs of the others stay
   * valid, so that a secret is replaced without a gap.
   */
  secrets: readonly string[];
  /** The store's installation: a URL of one is invalid in another with the same secret. */
  installation: string;
}

/** The batch that a URL is of. */
export interface CallbackBatch {
  id: number;
  /** Unix microseconds. */
  createdUs: number;
}

/** What a URL was made for. */
interface Stamp extends CallbackBatch {
  /** Unix seconds; null: a URL of a version that wrote none. */
  expiresS: number | null;
}

const CALLBACK_PATH = '/callbacks';
const PATH = new RegExp(`${CALLBACK_PATH}/(\\d{1,15})\\.(\\d{1,16})(?:\\.(\\d{1,11}))?/([A-Za-z0-9_-]{1,100})/?$`);
/** How long after its batch was made a URL is valid that says no time. */
const UNDATED_MS = 30 * DAY_MS;

const macOf = (secret: string, installation: string, { id, createdUs, expiresS }: Stamp): string =>
  createHmac('sha256', secret)
    .update(`muster callback\n${installation}\n${id}\n${createdUs}${expiresS === null ? '' : `\n${expiresS}`}`)
    .digest('base64url');

/** What a callback's path says, not checked yet. */
export interface CallbackToken {
  expiresS: number | null;
  mac: string;
}

/**
 * Says whether a secret of the key signed the token and it has not expired; compares in constant
 * time. `nowMs`: a clock that is off by minutes does not matter to URLs that are valid for days.
 */
export const isCallbackToken = (
  { secrets, installation }: CallbackKey,
  batch: CallbackBatch,
  { expiresS, mac }: CallbackToken,
  nowMs = Date.now(),
): boolean => {
  const given = Buffer.from(mac);
  const isSigned = secrets
    .map((secret) => Buffer.from(macOf(secret, installation, { ...batch, expiresS })))
    .map((expected) => expected.length === given.length && timingSafeEqual(expected, given))
    .includes(true);
  return isSigned && nowMs < (expiresS === null ? batch.createdUs / 1_000 + UNDATED_MS : expiresS * 1_000);
};

/**
 * Returns a batch's callback URL, valid for so long. Never log it: anyone who has it may complete
 * the batch. `base` is the address under which downstreams reach a worker.
 */
export const callbackUrl = (
  base: string,
  { secrets, installation }: CallbackKey,
  { id, createdUs }: CallbackBatch,
  validMs: number,
  nowMs = Date.now(),
): string => {
  const expiresS = Math.ceil((nowMs + validMs) / 1_000);
  const mac = macOf(secrets[0]!, installation, { id, createdUs, expiresS });
  return `${base.replace(/\/+$/, '')}${CALLBACK_PATH}/${id}.${createdUs}.${expiresS}/${mac}`;
};

/** Reads the path of such a URL; null: it is none. The token is not compared yet. */
export const readCallbackPath = (path: string): { batch: CallbackBatch; token: CallbackToken } | null => {
  const [, id, createdUs, expiresS, mac] = PATH.exec(path) ?? [];
  if (id === undefined || createdUs === undefined || mac === undefined) return null;
  return {
    batch: { id: Number(id), createdUs: Number(createdUs) },
    token: { expiresS: expiresS === undefined ? null : Number(expiresS), mac },
  };
};
