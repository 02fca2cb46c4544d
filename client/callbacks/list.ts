import type { UndeliveredRow } from '../../postgres/callbacks/undelivered';
import { listUndelivered } from '../../postgres/callbacks/undelivered';
import type { CallbackPage, UndeliveredCallback } from '../../workflows/contracts/callback';
import type { CallbackState } from '../../workflows/planning/callbacks/undelivered';
import { CALLBACK_STATES } from '../../workflows/planning/callbacks/undelivered';
import { PAGE_MAX } from '../../workflows/planning/pages';
import { checkName, checkOneOf, checkWhole } from '../arguments';
import type { ClientContext } from '../context';
import { decodePlace, encodePlace, MOST_LOOKS } from '../listing/pageCursor';
import { findScope } from '../operations/scope';

/** Options of `callbacks.list`: which callbacks, and which page of them. */
export interface ListCallbacksOptions {
  /** Only callbacks of tasks of this handler; default: of all, and of fan-outs. */
  handler?: string;
  /** Only those that are tried again, or that were given up; default: both. */
  state?: CallbackState;
  /** Most callbacks of the page, 1 to 1,000. Default 100. */
  limit?: number;
  /** The `next` of the page before. */
  after?: string;
}

/** Rows that one look reads. */
const LOOKED = 1_000;
export const NEWEST: readonly [before: number] = [Number.MAX_SAFE_INTEGER];

/** Checks which callbacks are meant. */
export const scopeOf = async (
  client: ClientContext,
  { handler, state }: Pick<ListCallbacksOptions, 'handler' | 'state'>,
): Promise<{ handler: string | null; givenUp: boolean | null }> => {
  const givenUp = state === undefined ? null : checkOneOf('state', state, CALLBACK_STATES) === 'given-up';
  if (handler !== undefined) await findScope(client, checkName('handler', handler));
  await client.ready();
  return { handler: handler ?? null, givenUp };
};

export const listCallbacks = async (
  client: ClientContext,
  options: ListCallbacksOptions = {},
): Promise<CallbackPage> => {
  const limit = checkWhole('limit', options.limit ?? 100, 1, PAGE_MAX);
  let [before]: readonly [number | null] = decodePlace('callbacks', NEWEST, options.after);
  const scope = await scopeOf(client, options);
  const callbacks: UndeliveredCallback[] = [];
  for (let looks = 0; before !== null && callbacks.length < limit && looks < MOST_LOOKS; looks++) {
    const rows = await listUndelivered(client.pool, scope, before, LOOKED);
    const matching = rows.filter(({ matches }) => matches);
    const kept = matching.slice(0, limit - callbacks.length);
    callbacks.push(...kept.map(toView));
    const isAll = kept.length === matching.length;
    if (isAll) before = rows.length < LOOKED ? null : rows.at(-1)!.id;
    else before = kept.at(-1)!.id;
  }
  return { callbacks, next: before === null ? null : encodePlace('callbacks', [before]) };
};

export const toView = (row: UndeliveredRow): UndeliveredCallback => ({
  id: row.id,
  message: row.messageId,
  state: row.doneAt === null ? 'retrying' : 'given-up',
  handler: row.handler,
  batch: row.batchId,
  fanout: row.fanout,
  to: receiverOf(row),
  attempts: row.attempts,
  error: row.error,
  createdAt: row.createdAt?.toISOString() ?? null,
  nextAt: row.nextAt?.toISOString() ?? null,
  endedAt: row.doneAt?.toISOString() ?? null,
});

/** A query and a password may be secrets of the receiver: they are not shown. */
const receiverOf = ({ kind, address }: UndeliveredRow): UndeliveredCallback['to'] => {
  if (kind === 'workflow') {
    const { workflowId = '', runId, signal } = address;
    return { workflowId, ...(runId === undefined ? {} : { runId }), ...(signal === undefined ? {} : { signal }) };
  }
  // One address that cannot be read must not hide the others.
  if (!URL.canParse(address['url']!)) return { url: 'not a URL' };
  const { origin, pathname } = new URL(address['url']!);
  return { url: `${origin}${pathname}` };
};
