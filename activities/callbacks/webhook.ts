import { isIP } from 'node:net';
import type { LookupFunction } from 'node:net';
import { Webhook } from 'standardwebhooks';
import { Agent } from 'undici';
import { allowedAddresses, resolveHost } from './addresses';
import type { Resolve, Resolved } from './addresses';
import { bareHost, isAllowedUrl } from './allowed';
import type { CallbackPolicy } from '../deps';
import { retryAfterMs } from '../../handlers/http/retryAfter';
import { linkedSignal } from '../../handlers/deadline';
import { cutText, describeThrown } from '../../handlers/text';

/** The result of one delivery. `unreachable`: there was no answer at all; the host may be down. */
export type Delivery =
  | { kind: 'delivered' }
  | { kind: 'given-up'; error: string }
  | { kind: 'retry'; error: string; afterMs?: number; unreachable?: boolean };

export interface WebhookMessage {
  /** The same in every attempt: the receiver recognizes repeats by it. */
  id: string;
  url: string;
  /** JSON text. */
  body: string;
}

/** From the resolver's answer to the response's first line. */
const TIMEOUT_MS = 10_000;
/** Most bytes of a response's body, read only so that the connection ends cleanly. */
const RESPONSE_LIMIT = 16_384;

/**
 * Sends one POST, signed after Standard Webhooks. Only to an allowed host, at an address that was
 * checked and is then connected to (never resolved again), without redirects. 2xx: delivered; 410:
 * the receiver wants no more of it; anything else: again later. Never throws.
 */
export const sendWebhook = async (
  policy: CallbackPolicy,
  message: WebhookMessage,
  options: { signal: AbortSignal; resolve?: Resolve; timeoutMs?: number },
): Promise<Delivery> => {
  const checked = check(policy, message.url);
  if ('refusal' in checked) return { kind: 'given-up', error: checked.refusal };
  const { url, allow, secrets } = checked;
  const linked = linkedSignal(options.signal, options.timeoutMs ?? TIMEOUT_MS);
  try {
    const host = bareHost(url.hostname);
    const found = await until(linked.signal, addressesOf(host, options.resolve ?? resolveHost));
    const addresses = allowedAddresses(allow, url, found);
    if (addresses.length === 0) return { kind: 'given-up', error: privateAddress(host, found) };
    return await post(url, addresses, message, secrets, linked.signal);
  } catch (error) {
    return { kind: 'retry', error: cutText(`${url.origin}: ${describeThrown(error)}`), unreachable: true };
  } finally {
    linked.dispose();
  }
};

interface Checked {
  url: URL;
  /** All allowed hosts. */
  allow: readonly string[];
  /** Each signs the message. */
  secrets: readonly string[];
}

/** Returns what may be sent there and how, or why nothing is. */
const check = (policy: CallbackPolicy, address: string): Checked | { refusal: string } => {
  const refuse = (refusal: string): { refusal: string } => ({ refusal });
  if (!URL.canParse(address))
    return refuse(`url: expected an address such as https://host/path, got ${address.slice(0, 200)}`);
  const url = new URL(address);
  if (url.protocol !== 'https:' && url.protocol !== 'http:')
    return refuse(`url: expected https, got ${url.protocol.slice(0, 40)}`);
  if (url.username !== '' || url.password !== '') return refuse('url: expected no user and password in it');
  const receiver = policy.receivers?.find((one) => isAllowedUrl([one.allow], url, 'https'));
  const allow = [...policy.allow, ...(policy.receivers ?? []).map((one) => one.allow)];
  if (receiver === undefined && !isAllowedUrl(policy.allow, url, 'https')) return refuse(notAllowed(allow, url));
  const secret = receiver?.secret ?? policy.secret;
  const secrets = secret === null ? [] : typeof secret === 'string' ? [secret] : secret;
  if (secrets.length === 0)
    return refuse(
      'callbacks.secret: expected a Standard Webhooks secret (whsec_...), got nothing; unsigned callbacks are not sent',
    );
  return { url, allow, secrets };
};

const notAllowed = (allow: readonly string[], { protocol, host, href }: URL): string => {
  const list = allow.join(', ') || 'empty';
  return protocol === 'http:' && isAllowedUrl(allow, new URL(href), 'http and https')
    ? `url: expected https for the host ${host}, got http. To allow it, write http://${host} in callbacks.allow.`
    : `host ${host}: not in callbacks.allow (${list}). Add it to the config file and redrive or poll the task.`;
};

const privateAddress = (host: string, found: readonly Resolved[]): string =>
  `host ${host}: resolves to ${found.map(({ address }) => address).join(', ') || 'nothing'}, ` +
  'which is not a public address. To allow it, name the address in callbacks.allow, with this port or without one.';

const addressesOf = async (host: string, resolve: Resolve): Promise<readonly Resolved[]> => {
  const family = isIP(host);
  return family === 0 ? resolve(host) : [{ address: host, family: family as 4 | 6 }];
};

const post = async (
  url: URL,
  addresses: readonly Resolved[],
  message: WebhookMessage,
  secrets: readonly string[],
  signal: AbortSignal,
): Promise<Delivery> => {
  const at = new Date();
  const agent = new Agent({ connect: { lookup: pinned(addresses), timeout: TIMEOUT_MS }, pipelining: 0 });
  try {
    const request = agent.request({
      origin: url.origin,
      path: url.pathname + url.search,
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'user-agent': 'muster',
        'webhook-id': message.id,
        'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
        'webhook-signature': secrets.map((one) => new Webhook(one).sign(message.id, at, message.body)).join(' '),
      },
      body: message.body,
      signal,
    });
    const { statusCode, headers, body } = await until(signal, request);
    await body.dump({ limit: RESPONSE_LIMIT, signal }).catch(() => undefined); // the status line is all that counts
    if (statusCode >= 200 && statusCode < 300) return { kind: 'delivered' };
    if (statusCode === 410) return { kind: 'given-up', error: 'answered 410: it wants no more callbacks' };
    const error = `answered ${statusCode}${statusCode >= 300 && statusCode < 400 ? ': redirects are not followed' : ''}`;
    const afterMs = retryAfterMs(headers, Date.now());
    return { kind: 'retry', error, ...(afterMs === undefined ? {} : { afterMs }) };
  } finally {
    await agent.destroy().catch(() => undefined);
  }
};

/**
 * Returns the checked addresses for any name: the connection goes to what was checked, even if the
 * name's entry changes meanwhile.
 */
const pinned =
  (addresses: readonly Resolved[]): LookupFunction =>
  (_host, options, callback) => {
    if (options.all === true) callback(null, [...addresses]);
    else callback(null, addresses[0]!.address, addresses[0]!.family);
  };

/**
 * Rejects when the signal is aborted. Undici heeds a signal only once it is connected, a resolver
 * never.
 */
const until = async <T>(signal: AbortSignal, work: Promise<T>): Promise<T> => {
  work.catch(() => undefined);
  let stop = (): void => undefined;
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason as Error);
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
};
