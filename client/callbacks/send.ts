import * as store from '../../postgres/callbacks/undelivered';
import type { CallbackState } from '../../workflows/planning/callbacks/undelivered';
import { PAGE_MAX } from '../../workflows/planning/pages';
import { checkWhole } from '../arguments';
import type { ClientContext } from '../context';
import { IDS_PER_STATEMENT } from '../context';
import { InvalidArgumentError, NotFoundError } from '../errors';
import { wakeNotifierOf } from '../operations/wakeNotifier';
import { NEWEST, scopeOf } from './list';

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
  const ids = checkNumbers(options.ids);
  for (const name of ['handler', 'state', 'limit'] as const)
    if (options[name] !== undefined) throw new InvalidArgumentError(name, 'nothing beside `ids`', options[name]);
  await client.ready();
  const found = new Set(await store.findUndelivered(client.pool, ids));
  const missing = ids.find((id) => !found.has(id));
  if (missing !== undefined)
    throw new NotFoundError(
      'callback',
      String(missing),
      'It was delivered, was never tried, or was deleted. Nothing was sent.',
    );
  return store.sendAgain(client.pool, ids);
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
