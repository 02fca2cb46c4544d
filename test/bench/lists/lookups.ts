import type { Client, ListBatchesOptions, ListTasksOptions } from '../../../client';
import { encodePlace } from '../../../client/listing/pageCursor';
import { encodeCursor } from '../../../client/tasks/list/cursor';
import { byTime } from '../../../client/tasks/list/byTime';
import { readHandlerPage, readOverview, readTargetPage } from '../../../workers/api/dashboard/reads';
import { DAY_MS } from '../../../workflows/planning/duration';

/** Every list and lookup that is asked for while a store works, by what is asked. */

interface Page {
  next: string | null;
}
export type Pages = (client: Client, after: string | undefined) => Promise<Page>;
export type Lookup = (client: Client) => Promise<unknown>;

const PAGE = 100;
const tasks =
  (handler: string | null, options: ListTasksOptions): Pages =>
  (client, after) => {
    const page = { limit: PAGE, ...options, ...(after === undefined ? {} : { after }) };
    return client.tasks.list(handler, page);
  };
const batches =
  (options: ListBatchesOptions): Pages =>
  (client, after) =>
    client.batches.list('mails', { limit: PAGE, ...options, ...(after === undefined ? {} : { after }) });
const callbacks =
  (options: object): Pages =>
  (client, after) =>
    client.callbacks.list({ limit: PAGE, ...options, ...(after === undefined ? {} : { after }) });

const daysAgo = (days: number): Date => new Date(Date.now() - days * DAY_MS);
const TARGET = 'orders 7';

/** Lists, of which the first page and the 100th are asked for. */
export const LISTS: Readonly<Record<string, Pages>> = {
  'created, as sent': tasks('mails', { state: 'created' }),
  'created, of a target': tasks('orders', { state: 'created', target: TARGET }),
  'created, newest first': tasks('mails', { state: 'created', order: 'newest' }),
  'created, oldest first': tasks('mails', { state: 'created', order: 'oldest' }),
  'created, newest first, of a target': tasks('orders', { state: 'created', order: 'newest', target: TARGET }),
  'created, newest first, in the last three days': tasks('mails', { state: 'created', since: daysAgo(3) }),
  'created, oldest first, three days ago': tasks('mails', {
    state: 'created',
    order: 'oldest',
    since: daysAgo(3),
    until: daysAgo(2),
  }),
  'created, in lanes': tasks('edits', { state: 'created' }),
  batched: tasks('orders', { state: 'batched' }),
  unknown: tasks('orders', { state: 'unknown' }),
  failed: tasks('orders', { state: 'failed' }),
  'failed, of all handlers': tasks(null, { state: 'failed' }),
  'failed, of a target': tasks('orders', { state: 'failed', target: TARGET }),
  'failed, with an error': tasks('orders', { state: 'failed', error: 'HTTP 503' }),
  succeeded: tasks('mails', { state: 'succeeded' }),
  'succeeded, of all handlers': tasks(null, { state: 'succeeded' }),
  'succeeded, of a target': tasks('orders', { state: 'succeeded', target: TARGET }),
  'succeeded, three days ago': tasks('mails', { state: 'succeeded', since: daysAgo(3), until: daysAgo(2) }),
  'dead, which none is': tasks('mails', { state: 'dead' }),
  'with a tag of many': tasks('orders', { tag: 'vip' }),
  'with a tag of many, of all handlers': tasks(null, { tag: 'vip' }),
  'with a tag, failed': tasks('orders', { tag: 'vip', state: 'failed' }),
  'with a tag of few': tasks('orders', { tag: 'run-1' }),
  batches: batches({}),
  'batches, of a target': batches({ target: 'mails 7' }),
  'batches, open': batches({ state: 'open' }),
  'batches, succeeded': batches({ state: 'succeeded' }),
  'batches, failed': batches({ state: 'failed' }),
  'batches, failed, of a target': batches({ state: 'failed', target: 'mails 7' }),
  'batches, failed, with an error': batches({ state: 'failed', error: 'HTTP 503' }),
  'undelivered callbacks': callbacks({}),
  'undelivered callbacks, given up': callbacks({ handler: 'mails', state: 'given-up' }),
};

const [newest, oldest] = (['newest', 'oldest'] as const).map((order) => byTime(order));
const at = (tasks: number, share: number): number => Math.floor((tasks / 100) * share) * 16_384;
const fromTheEnd = (source: ReturnType<typeof byTime>, seq: number): string =>
  encodeCursor({ name: 'created', sources: [source] }, { source: 0, place: [seq] });

/** The last page of lists: what is asked for there comes after all else. */
export const lastPages = (count: number): Readonly<Record<string, Lookup>> => ({
  'created, newest first': (client) =>
    LISTS['created, newest first']!(client, fromTheEnd(newest!, at(count, 0.01) + 1)),
  'created, oldest first': (client) => LISTS['created, oldest first']!(client, fromTheEnd(oldest!, at(count, 0.999))),
  succeeded: tasksEndedBefore('mails', 'succeeded'),
  failed: tasksEndedBefore('orders', 'failed'),
  batches: (client) => batches({})(client, encodePlace('batches all', [PAGE])),
});

const tasksEndedBefore =
  (handler: string, state: 'succeeded' | 'failed'): Lookup =>
  (client) =>
    client.tasks.list(handler, { state, until: daysAgo(5.99), limit: PAGE });

/** What is no list. */
export const LOOKUPS: Readonly<Record<string, Lookup>> = {
  'errors, grouped': (client) => client.errors.list(),
  'errors, grouped, of a handler, of six days': (client) =>
    client.errors.list({ handler: 'orders', since: daysAgo(6) }),
  'status of a handler': (client) => client.status('mails'),
  'status of all': (client) => client.status(),
  'a task by its id': (client) => client.getTask('task-4711'),
  'explain a task': (client) => client.explain('task-4711'),
  'a batch by its number': (client) => client.batches.get(4_711),
  'dashboard, overview': (client) => readOverview(client, { tenant: null, handlers: null }),
  'dashboard, handler': (client) => readHandlerPage(client, 'mails'),
  'dashboard, target': (client) => readTargetPage(client, 'mails', 'mails 7'),
  'bulk, count a dry run': (client) =>
    client.bulk.dryRun({ handler: 'orders', where: { state: 'failed', target: TARGET }, action: { do: 'redrive' } }),
  'verify, all parts': (client) => client.verify(),
};
