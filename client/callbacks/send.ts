import * as store from '../../postgres/callbacks/undelivered';
import type { CallbackPage } from '../../workflows/contracts/callback';
import type { CallbackState } from '../../workflows/planning/callbacks/undelivered';
import { PAGE_MAX } from '../../workflows/planning/pages';
import { checkWhole } from '../arguments';
import type { ClientContext } from '../context';
import { IDS_PER_STATEMENT } from '../context';
import { InvalidArgumentError, NotFoundError } from '../errors';
import { wakeNotifierOf } from '../operations/wakeNotifier';
import { listCallbacks, NEWEST, scopeOf, toView } from './list';

/** Options of `callbacks.send`: which callbacks are sent again. */
export interface SendCallbacksOptions {
  /** Only these, at most 1,000 numbers; the other options do not go with it. */
  ids?: readonly number[];
  /** Only callbacks of tasks of this handler; default: of all, and of fan-outs. */
  handler?: string;
  /** Those that were given up (default), or those that are tried again by themselves later. */
  state?: CallbackState;
  /** Most callbacks, 1 to 1,000,000,000; default: no limit. */
  limit?: number;
}

/** Makes callbacks due at once, and wakes the notifier. */
export const sendCallbacks = async (
  client: ClientContext,
  options: SendCallbacksOptions = {},
): Promise<{ sent: number }> => {
  const sent = options.ids === undefined ? await sendAll(client, options) : await sendThese(client, options);
  if (sent > 0) await wakeNotifierOf(client);
  return { sent };
};

const sendThese = async (client: ClientContext, options: SendCallbacksOptions): Promise<number> => {
  const ids = numbersIn(options);
  await client.ready();
  requireAll(ids, await store.findUndelivered(client.pool, ids));
  return store.sendAgain(client.pool, ids);
};

/**
 * Returns what a call with these options would send, the newest first, as the first page of a list.
 * It refuses what that call refuses.
 */
export const callbacksToSend = async (
  client: ClientContext,
  options: SendCallbacksOptions,
  most: number,
): Promise<CallbackPage> => {
  const { ids, handler, state = 'given-up', limit = most } = options;
  if (ids === undefined) {
    const ofHandler = handler === undefined ? {} : { handler };
    return listCallbacks(client, { ...ofHandler, state, limit: Math.min(limit, most) });
  }
  const numbers = numbersIn(options);
  await client.ready();
  const rows = await store.readUndelivered(client.pool, numbers);
  requireAll(
    numbers,
    rows.map(({ id }) => id),
  );
  return { callbacks: rows.map(toView), next: null };
};

const requireAll = (ids: readonly number[], found: readonly number[]): void => {
  const those = new Set(found);
  const missing = ids.find((id) => !those.has(id));
  if (missing !== undefined)
    throw new NotFoundError(
      'callback',
      String(missing),
      'It was delivered, was never tried, or was deleted. Nothing was sent.',
    );
};

/** Returns the numbers that are named, beside which nothing may be. */
const numbersIn = ({ ids, ...others }: SendCallbacksOptions): number[] => {
  for (const name of ['handler', 'state', 'limit'] as const)
    if (others[name] !== undefined) throw new InvalidArgumentError(name, 'nothing beside `ids`', others[name]);
  return checkNumbers(ids);
};

const checkNumbers = (value: unknown): number[] => {
  if (!Array.isArray(value) || value.length === 0 || value.length > PAGE_MAX)
    throw new InvalidArgumentError('ids', `a list of 1 to ${PAGE_MAX} numbers of callbacks`, value);
  return [...new Set(value.map((id, i) => checkWhole(`ids[${i}]`, id, 1, Number.MAX_SAFE_INTEGER)))];
};

const sendAll = async (client: ClientContext, { handler, state, limit }: SendCallbacksOptions): Promise<number> => {
  const most = limit === undefined ? Infinity : checkWhole('limit', limit, 1, 1_000_000_000);
  const scope = await scopeOf(client, {
    state: state ?? 'given-up',
    ...(handler === undefined ? {} : { handler }),
  });
  let sent = 0;
  for (let before: number | null = NEWEST[0]; before !== null && sent < most;) {
    const size = { looked: IDS_PER_STATEMENT, limit: Math.min(IDS_PER_STATEMENT, most - sent) };
    const some: store.SentSome = await store.sendSomeAgain(client.pool, scope, before, size);
    sent += some.sent;
    before = some.before;
  }
  return sent;
};
