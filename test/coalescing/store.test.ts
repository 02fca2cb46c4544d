import { randomUUID } from 'node:crypto';
import { claimBatches } from '../../activities/grouping/claim';
import { DEFAULT_NODE_SETTINGS } from '../../activities/nodes/settings';
import { createClient } from '../../client';
import type { TaskInput } from '../../client';
import type { HandlerOptions } from '../../handlers';
import { NO_QUOTAS, upsertTenant } from '../../postgres/api/tenant';
import { readForming } from '../../postgres/dashboard/forming';
import { findHandler, registerHandler } from '../../postgres/grouping/handler';
import { lowerDue } from '../../postgres/grouping/ring';
import { mostCollected } from '../../workflows/planning/grouping/coalescing';
import type { TurnAnswer } from '../../workflows/messages';
import type { Item, Shop } from '../client/shop';
import { itemHandler, openShop } from '../client/shop';
import { temporalAddress } from '../helpers/database';
import { expectWhole } from '../helpers/whole';

/** Claims of a handler with `coalesceBy`, made by the test's own hand. @slow */

const HOUR_MS = 3_600_000;
const options = {
  coalesceBy: ({ key }: Item) => key!,
  limits: { maxItems: 2 },
  linger: { lingerMs: HOUR_MS },
};

let shop: Shop;
let told: string[];
let turn: number;
let runId: string;
beforeEach(async () => {
  shop = await openShop(options);
  [told, turn, runId] = [[], 0, randomUUID()];
});
afterEach(async () => {
  await expectWhole(shop.client);
  await shop.stop();
});

const item = (id: string, key: string, rest: Partial<TaskInput<Item>> = {}): TaskInput<Item> => ({
  ...{ id, payload: { to: 'se', key } },
  ...rest,
});
/** A turn of the leader; its batches stay in a dispatch that nobody begins. */
const claim = async (again = false): Promise<TurnAnswer> => {
  const { rows } = await shop.pool.query<{ id: number }>('select id from leader');
  const deps = {
    ...{ pool: shop.pool, leaseMs: 15_000, nodes: DEFAULT_NODE_SETTINGS, wake: () => Promise.resolve() },
    tellUnsent: (_handler: string, ended: readonly { id: string }[]) => {
      told.push(...ended.map(({ id }) => id));
      return Promise.resolve();
    },
  };
  const live = (await shop.pool.query<{ no: number }>('select no from dispatch')).rows.map(({ no }) => Number(no));
  if (!again) turn++;
  const input = { runId, runStartedAtMs: 1_700_000_000_000, turn, live, mayClaim: true, leaderId: rows[0]!.id };
  return claimBatches(deps, input);
};
const flush = () => shop.client.flush('items');
const query = async (text: string): Promise<Record<string, unknown>[]> =>
  (await shop.pool.query(text)).rows as Record<string, unknown>[];
const batches = async (): Promise<string[]> =>
  (
    await query(`select string_agg(k.id, ' ' order by u.n) as ids
    from batch b cross join lateral unnest(b.members) with ordinality u (seq, n) join task k on k.seq = u.seq
    group by b.id order by b.id`)
  ).map(({ ids }) => ids as string);
const ends = async (): Promise<unknown[]> =>
  (await query(`select k.id, o.error from outcome o join task k on k.seq = o.seq order by k.seq`)).map(
    ({ id, error }) => `${id as string}: ${error as string}`,
  );
const waiting = async (): Promise<unknown[]> =>
  (await query('select k.id from queue q join task k on k.seq = q.seq order by q.priority, q.seq')).map(({ id }) => id);
/** Milliseconds until the target is due, by the ring alone. */
const dueInMs = async (): Promise<number | null> => {
  await query('update target set due_at = null');
  const { rows } = await shop.pool.query<{ id: number }>('select id from target');
  await lowerDue(
    shop.pool,
    rows.map(({ id }) => id),
  );
  const [found] = await query('select (extract(epoch from due_at - clock()) * 1000)::float8 as ms from target');
  return found!['ms'] as number | null;
};

test('a full batch is due at once, and full is of those that are sent', async () => {
  await shop.client.submit('items', [item('1', 'a'), item('2', 'a'), item('3', 'a')]);
  expect(await dueInMs()).toBeGreaterThan(HOUR_MS - 60_000);
  await shop.client.submit('items', [item('4', 'b'), item('5', 'b')]);
  expect(await dueInMs()).toBeLessThanOrEqual(0);
  expect((await claim()).dispatch).toMatchObject({ batches: 1, tasks: 2 });
  expect(await batches()).toEqual(['3 5']);
  expect(await ends()).toEqual(['1: superseded by task 3', '2: superseded by task 3', '4: superseded by task 5']);
  expect(told).toEqual(['1', '2', '4']);
  expect(await query(`select reason, n from batch`)).toMatchObject([{ reason: 0 /* size */, n: 2 }]);
  expect(await dueInMs()).toBeNull();
});

test("the error of a tenant's task names no task that is not the tenant's", async () => {
  await upsertTenant(shop.pool, 'acme', NO_QUOTAS);
  const keys = { a: ['acme/1', 'rival/2'], b: ['acme/3', 'acme/4'], c: ['rival/5', 'acme/6'], d: ['acme', 'rival/7'] };
  for (const [key, ids] of Object.entries(keys))
    await shop.client.submit(
      'items',
      ids.map((id) => item(id, key)),
    );
  await claim();
  expect(await ends()).toEqual([
    'acme/1: superseded by task (of another tenant)',
    'acme/3: superseded by task acme/4',
    'rival/5: superseded by task acme/6', // no tenant is named rival
    'acme: superseded by task rival/7',
  ]);
});

const sized = ({ note }: Item): number => Number(note);
test.each<[string, Partial<HandlerOptions<Item>>]>([
  ['bytes', { bytesOf: sized, limits: { maxItems: 9, maxBytes: 100, overheadBytes: 5 } }],
  ['weight', { weightOf: sized, limits: { maxItems: 9, maxWeight: 100 } }],
  ['weight in flight', { weightOf: sized, limits: { maxItems: 9, maxWeightInFlight: { perTarget: 100 } } }],
])('full by %s, too, is of those that are sent, at the ring and at the claim', async (_what, given) => {
  await shop.stop();
  shop = await openShop({ ...options, ...given });
  const sizedItem = (id: string, key: string, size: number) =>
    item(id, key, { payload: { to: 'se', key, note: String(size) } });
  await shop.client.submit('items', [sizedItem('1', 'a', 90), sizedItem('2', 'a', 10), sizedItem('3', 'b', 80)]);
  expect(await dueInMs()).toBeGreaterThan(HOUR_MS - 60_000);
  await shop.client.submit('items', sizedItem('4', 'c', 15));
  expect(await dueInMs()).toBeLessThanOrEqual(0);
  await claim();
  expect([await batches(), await waiting()]).toEqual([['2 3'], ['4']]);
});

test('the quiet period needs as many that are sent as minItems says, and a flush counts for all', async () => {
  await shop.stop();
  const limits = { maxItems: 9, minItems: 2 };
  shop = await openShop({ ...options, limits, linger: { lingerMs: HOUR_MS, quietPeriodMs: HOUR_MS / 2 } });
  await shop.client.submit('items', [item('1', 'a'), item('2', 'a')]);
  expect(await dueInMs()).toBeGreaterThan(HOUR_MS - 60_000);
  await shop.client.submit('items', item('3', 'b'));
  expect(await dueInMs()).toBeLessThan(HOUR_MS / 2 + 1_000);
  expect(await dueInMs()).toBeGreaterThan(HOUR_MS / 2 - 60_000);
  await query(`update target set flush_seq = (select seq from task where id = '1')`);
  expect(await dueInMs()).toBeLessThanOrEqual(0);
  await claim();
  expect([await batches(), await ends()]).toEqual([['2 3'], ['1: superseded by task 2']]);
});

test('a claim that is rolled back ends nothing, and a turn that is repeated nothing more', async () => {
  await shop.client.submit('items', [item('1', 'a'), item('2', 'a')]);
  await flush();
  await query(`create function stop() returns trigger language plpgsql as $$ begin raise 'no outcome'; end $$`);
  await query('create trigger stops before insert on outcome for each row execute function stop()');
  await expect(claim()).rejects.toThrow('no outcome');
  expect([await batches(), await waiting(), await ends(), told]).toEqual([[], ['1', '2'], [], []]);
  await query('drop trigger stops on outcome');
  await expectWhole(shop.client);
  const first = await claim(true);
  expect(first.dispatch).toMatchObject({ batches: 1, tasks: 1 });
  await shop.client.submit('items', item('3', 'a'));
  await flush();
  expect((await claim(true)).dispatch).toEqual(first.dispatch);
  expect([await batches(), await waiting(), await ends(), told]).toEqual([
    ['2'],
    ['3'],
    ['1: superseded by task 2'],
    ['1'],
  ]);
});

test('without a free call nothing ends, and a later update goes for all that wait', async () => {
  await shop.stop();
  shop = await openShop({ ...options, concurrency: { perTarget: 1 }, limits: { maxItems: 1 } });
  await shop.client.submit('items', [item('1', 'a')]);
  await claim();
  await shop.client.submit('items', [item('2', 'a'), item('3', 'a')]);
  await claim();
  expect([await waiting(), await ends()]).toEqual([['2', '3'], []]);
  await shop.client.submit('items', [item('4', 'a')]);
  await query('update batch set dispatch = null, state = 4, finished_at = clock()');
  await query('delete from dispatch');
  await query('update target set busy = false, due_at = clock()');
  await claim();
  expect([await waiting(), await batches()]).toEqual([[], ['1', '4']]);
  expect(await ends()).toEqual(['2: superseded by task 4', '3: superseded by task 4']);
});

test('priorities change which goes first, never which of a key is the last', async () => {
  await shop.client.submit('items', [
    item('1', 'a', { priority: -2 }),
    item('2', 'b', { priority: -1 }),
    item('3', 'a', { priority: 7 }),
  ]);
  await claim();
  expect([await batches(), await ends()]).toEqual([['3 2'], ['1: superseded by task 3']]);
});

test('at most so many updates are collected, at the ring and at the claim', async () => {
  // So few calls that a claim would read fewer tasks.
  await shop.stop();
  shop = await openShop({ ...options, concurrency: { perHandler: 1 } });
  const most = mostCollected(2);
  const updates = Array.from({ length: most }, (_, i) => item(`u${i}`, 'a'));
  await shop.client.submit('items', updates.slice(1));
  expect(await dueInMs()).toBeGreaterThan(HOUR_MS - 60_000);
  await query('update target set due_at = clock()');
  expect((await claim()).dispatch).toBeNull();
  await shop.client.submit('items', updates.slice(0, 1));
  expect(await dueInMs()).toBeLessThanOrEqual(0);
  expect((await claim()).dispatch).toMatchObject({ batches: 1, tasks: 1 });
  expect(await batches()).toEqual(['u0']); // submitted last
  expect((await ends()).length).toBe(most - 1);
});

test('a target may have another maxItems, which counts for both', async () => {
  await shop.client.submit('items', [item('1', 'a'), item('2', 'b'), item('3', 'b')]);
  await shop.client.setTarget('items', 'se', { maxItems: 3 });
  expect(await dueInMs()).toBeGreaterThan(HOUR_MS - 60_000);
  await shop.client.submit('items', [item('4', 'c')]);
  expect(await dueInMs()).toBeLessThanOrEqual(0);
  await claim();
  expect(await batches()).toEqual(['1 3 4']);
});

test.each(['distinctBy', 'no key'])('tasks from when the handler had %s are all sent', async (by) => {
  const { coalesceBy, ...rest } = options;
  const before = itemHandler({ ...rest, ...(by === 'distinctBy' ? { distinctBy: coalesceBy } : {}) });
  await registerHandler(shop.pool, before);
  const temporal = { address: temporalAddress() };
  const old = createClient({ databaseUrl: shop.database.url, handlers: [before], temporal });
  await old.submit('items', [item('1', 'a'), item('2', 'a')]);
  await old.close();
  await registerHandler(shop.pool, shop.handler);
  await shop.client.submit('items', [item('3', 'a'), item('4', 'a')]);
  await flush();
  await claim();
  expect([await batches(), await ends()]).toEqual([['1 2', '4'], ['3: superseded by task 4']]);
});

test('a key that was held under a distinctBy in between is freed', async () => {
  await shop.client.submit('items', [item('1', 'a'), item('2', 'a')]);
  await query(`insert into busy_key (target_id, key, seq) select target_id, key, seq from task where id = '1'`);
  await flush();
  await claim();
  expect([await ends(), await query('select from busy_key')]).toEqual([['1: superseded by task 2'], []]);
});

test('a task by SQL has the same key as one of the client', async () => {
  await shop.client.submit('items', item('1', 'a'));
  const call = `select submit('items', $1, '{"to": "se", "key": "a"}', 'se', distinct_key => $2) as new`;
  await shop.pool.query(call, ['2', 'a']);
  await expect(shop.pool.query(call, ['3', null])).rejects.toThrow('distinct_key: expected 1-512 bytes of text');
  await flush();
  await claim();
  expect([await batches(), await ends()]).toEqual([['2'], ['1: superseded by task 2']]);
});

test('explain names the task that goes for it, and both it and the dashboard count those that are sent', async () => {
  await shop.client.submit('items', [item('1', 'a'), item('2', 'a')]);
  const { text, waitsFor } = await shop.client.explain('1');
  expect(waitsFor).toBe('linger');
  expect(text).toMatch(/^1 of at most 2 tasks wait in target "se"/);
  expect(text).toContain('Task "2" has the same coalesceBy key and is later');
  expect((await shop.client.explain('2')).text).not.toContain('coalesceBy');
  const { id } = (await findHandler(shop.pool, 'items'))!;
  expect(await readForming(shop.pool, id, 'se')).toMatchObject({ items: 1, weight: 1, more: false });
  await shop.client.submit('items', [item('3', 'b'), item('4', 'c')]);
  expect(await readForming(shop.pool, id, 'se')).toMatchObject({ items: 2, weight: 2, more: true });
});

test('a redriven task is sent by itself, unless a later one of its key waits', async () => {
  await shop.client.submit('items', [item('1', 'a'), item('2', 'b')]);
  await shop.client.cancel(['1', '2']);
  await query('update outcome set state = 5 /* failed */');
  await shop.client.submit('items', item('3', 'a'));
  await shop.client.redrive('items', { only: 'failed' });
  await claim();
  expect([await batches(), await ends()]).toEqual([['3 2'], ['1: superseded by task 3']]);
});
