import type { BatchSummary, Client, ListBatchesOptions } from '../../../client';
import { MusterError } from '../../../client';
import { BATCH_STATES } from '../../../workflows/planning/states';
import type { BatchState } from '../../../workflows/planning/states';
import type { Shop } from '../shop';
import { clientOf, cut, endAlone, itemHandler, items, openShop } from '../shop';

/**
 * Lists of batches, over a store with batches in every state: each page size must give every batch
 * once.
 */

let shop: Shop;
let client: Client;
beforeAll(async () => {
  shop = await openShop();
  client = clientOf(
    shop,
    'listed',
    itemHandler({ name: 'others' }),
    itemHandler({ name: 'letters', service: (to) => to }),
  );
  await fill();
}, 120_000);
afterAll(async () => {
  await client.close();
  await shop.stop();
});

const TARGETS = ['c', 'a', 'b'];

const fill = async (): Promise<void> => {
  const { pool } = shop;
  for (const handler of ['items', 'others'])
    for (const to of TARGETS) {
      const ids = Array.from({ length: 40 }, (_, i) => `${handler}-${to}-${i}`);
      await client.submit(handler, items(to, ...ids));
      const part = (from: number, until: number): string[] => ids.slice(from, until);
      await cut(pool, part(0, 2), { state: 1 });
      await cut(pool, part(2, 4), { state: 1, attempt: 1 });
      await cut(pool, part(4, 6), { state: 3, error: 'the answer was lost' });
      for (const i of [0, 1, 2]) await cut(pool, part(6 + i, 7 + i), { state: 4, finishedAgoMs: i * 1_000 });
      for (const i of [0, 1, 2])
        await cut(pool, part(12 + i, 13 + i), { state: 5, error: `status 503 of ${i}`, finishedAgoMs: 2_000 });
      await cut(pool, part(20, 24), { state: 6, error: 'given up', finishedAgoMs: 60_000 });
      await cut(pool, part(24, 25), { state: 4 });
      await endAlone(pool, ids[24]!, 5, 'alone'); // dissolves its batch
    }
  await client.submitBatch('letters', 'lane', items('lane', 'letter-1', 'letter-2'));
};

/** All that the store has, read another way. */
const stored = async (handler: string, state: BatchState | null, target?: string): Promise<number[]> => {
  const { rows } = await shop.pool.query<{ id: number }>({
    text: `
select b.id from batch b join target t on t.id = b.target_id join handler h on h.id = t.handler_id
where h.name = $1 and ($2::smallint is null or b.state = $2) and ($3::text is null or t.key = $3) order by b.id`,
    values: [handler, state === null ? null : BATCH_STATES[state], target ?? null],
  });
  return rows.map(({ id }) => id);
};

const listAll = async (handler: string, options: ListBatchesOptions): Promise<BatchSummary[]> => {
  const all: BatchSummary[] = [];
  for (let after = options.after; ;) {
    const page = await client.batches.list(handler, { ...options, ...(after === undefined ? {} : { after }) });
    expect(page.batches.length).toBeLessThanOrEqual(options.limit ?? 100);
    all.push(...page.batches);
    if (page.next === null) return all;
    after = page.next;
  }
};
const numbers = (list: readonly BatchSummary[]): number[] => list.map(({ id }) => id);
const sorted = (list: readonly BatchSummary[]): number[] => numbers(list).toSorted((a, b) => a - b);

const STATES = [null, ...(Object.keys(BATCH_STATES) as BatchState[])];
const SIZES = [1, 2, 3, 1_000];

test.each(STATES)('every batch in state %s is listed once, whatever the size of the pages', async (state) => {
  const given = state === null ? {} : { state };
  for (const limit of SIZES) {
    for (const handler of ['items', 'others', 'letters'])
      expect(sorted(await listAll(handler, { ...given, limit }))).toEqual(await stored(handler, state));
    const ofTarget = await listAll('items', { ...given, limit, target: 'a' });
    expect(sorted(ofTarget)).toEqual(await stored('items', state, 'a'));
    expect(ofTarget.every((one) => one.target === 'a' && (state === null || one.state === state))).toBe(true);
  }
  expect((await stored('items', state, 'a')).length).toBeGreaterThan(0);
});

test('the newest come first; those that are open or unknown by target', async () => {
  const falling = (list: readonly number[]) => expect(list).toEqual(list.toSorted((a, b) => b - a));
  for (const limit of [2, 1_000]) {
    falling(numbers(await listAll('items', { limit })));
    falling(numbers(await listAll('items', { limit, target: 'b' })));
    for (const state of ['succeeded', 'failed'] as const)
      falling((await listAll('items', { limit, state })).map(({ finishedAt }) => Date.parse(finishedAt!)));
    for (const state of ['open', 'unknown'] as const) {
      const targets = (await listAll('items', { limit, state })).map(({ target }) => target);
      expect(targets).toEqual(targets.toSorted());
    }
  }
});

test('only batches whose error contains a text are listed, also where few do', async () => {
  const found = await listAll('items', { error: 'status 503 of 1', limit: 1 });
  expect(found.map(({ target, error }) => `${target} ${error}`).toSorted()).toEqual(
    TARGETS.toSorted().map((to) => `${to} status 503 of 1`),
  );
  expect(found[0]).toEqual({
    id: expect.any(Number),
    target: expect.any(String),
    state: 'failed',
    reason: 'linger',
    n: 1,
    left: 0,
    bytes: expect.any(Number),
    attempts: 1,
    retryAt: null,
    reference: null,
    error: 'status 503 of 1',
    createdAt: expect.any(String),
    startedAt: expect.any(String),
    finishedAt: expect.any(String),
  });
});

test('what is not there and what is no page is refused by name', async () => {
  const { next } = await client.batches.list('items', { limit: 1 });
  for (const [handler, options, message] of [
    ['none', {}, /Handler "none" not found/],
    ['items', { target: 'none' }, /Target "none" of handler "items" not found/],
    ['items', { state: 'lost' as 'open' }, /^state: expected one of/],
    ['items', { limit: 0 }, /^limit: expected/],
    ['items', { error: '' }, /^error: expected/],
    ['items', { after: 'x' }, /^after: expected the `next` of a page of the same list/],
    ['items', { state: 'open' as const, after: next! }, /^after: expected/],
    ['items', { target: 'a', after: next! }, /^after: expected/],
  ] as const) {
    const refused = client.batches.list(handler, options);
    await expect(refused).rejects.toThrow(MusterError);
    await expect(refused).rejects.toThrow(message);
  }
});

test('a page looks at a bounded number of rows: among many others it goes on by its `next`', async () => {
  await shop.pool.query(`
insert into batch (target_id, leader_id, epoch, turn, state, reason, n, members, bytes, weight, created_at, finished_at)
select (select t.id from target t join handler h on h.id = t.handler_id where h.name = 'others' limit 1), 1, 1, 1, 4, 0,
  1, array[-i], 1, 1, clock(), clock() from generate_series(1, 21000) i`);
  const page = await client.batches.list('items', { limit: 5 });
  expect(page).toEqual({ batches: [], next: expect.any(String) });
  expect(sorted(await listAll('items', {}))).toEqual(await stored('items', null));
  expect(sorted(await listAll('items', { state: 'succeeded' }))).toEqual(await stored('items', 'succeeded'));
});
