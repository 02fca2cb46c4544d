import type { Client, ListTasksOptions, TaskSummary } from '../../../client';
import { TASK_STATES } from '../../../workflows/planning/states';
import type { TaskState } from '../../../workflows/planning/states';
import type { Shop } from '../shop';
import { clientOf, broken, cut, endAlone, itemHandler, items, openShop } from '../shop';

/** Tasks by tag, in every place that they can be in. */

let shop: Shop;
let client: Client;
beforeAll(async () => {
  shop = await openShop();
  client = clientOf(
    shop,
    'tagged',
    itemHandler({ name: 'others' }),
    itemHandler({ name: 'letters', service: (to) => to }),
  );
  await fill();
}, 120_000);
afterAll(async () => {
  const found = await broken(client);
  await client.close();
  await shop.stop();
  expect(found).toEqual({});
});

/** Every third task has the tag; another tag is that of each handler. */
const fill = async (): Promise<void> => {
  for (const handler of ['items', 'others'])
    for (const to of ['b', 'a']) {
      const ids = Array.from({ length: 60 }, (_, i) => `${handler}-${to}-${i}`);
      const tasks = items(to, ...ids).map((task, i) => ({
        ...task,
        priority: i % 2,
        tags: [handler, ...(i % 3 === 0 ? ['third'] : [])],
        ...(i >= 55 ? { notBefore: '2099-01-01' } : {}),
      }));
      await client.submit(handler, tasks);
      await cut(shop.pool, ids.slice(10, 14), { state: 1 });
      await cut(shop.pool, ids.slice(14, 18), { state: 1, attempt: 1 });
      await cut(shop.pool, ids.slice(18, 22), { state: 3, error: 'lost' });
      await cut(shop.pool, ids.slice(22, 30), { state: 4, finishedAgoMs: 3_600_000 });
      await cut(shop.pool, ids.slice(30, 40), { state: 5, error: 'status 503' });
      await cut(shop.pool, ids.slice(40, 50), { state: 4 });
      for (const id of ids.slice(42, 46)) await endAlone(shop.pool, id, 6, `status 404 of ${id}`);
      await client.cancel(ids.slice(50, 54));
    }
  await client.submit(
    'letters',
    items('lane-1', 'l1', 'l2').map((task) => ({ ...task, tags: ['third'] })),
  );
};

/** All that the store has, newest first, read another way. */
const stored = async (
  tag: string,
  { handler, state, target }: { handler?: string | undefined; state?: TaskState; target?: string } = {},
): Promise<string[]> => {
  const { rows } = await shop.pool.query<{ id: string }>({
    text: `
select s.id from task_state s join target t on t.id = s.target_id join handler h on h.id = t.handler_id
  join task_label l on l.seq = s.seq
where $1 = any(l.tags) and ($2::text is null or h.name = $2) and ($3::int is null or s.state = $3)
  and ($4::text is null or t.key = $4)
order by s.seq desc`,
    values: [tag, handler ?? null, state === undefined ? null : TASK_STATES[state], target ?? null],
  });
  return rows.map(({ id }) => id);
};

const listAll = async (handler: string | null, options: ListTasksOptions): Promise<TaskSummary[]> => {
  const all: TaskSummary[] = [];
  for (let after = options.after; ;) {
    const { tasks, next } = await client.tasks.list(handler, { ...options, ...(after === undefined ? {} : { after }) });
    expect(tasks.length).toBeLessThanOrEqual(options.limit ?? 100);
    all.push(...tasks);
    if (next === null) return all;
    after = next;
  }
};
const idsOf = (tasks: readonly TaskSummary[]): string[] => tasks.map(({ id }) => id);
const STATES = Object.keys(TASK_STATES) as TaskState[];

test.each([1, 7, 1_000])('in any state, newest first, of one handler or of all, by pages of %i', async (limit) => {
  const expected = await stored('third', { handler: 'items' });
  expect(expected.length).toBe(40);
  const found = await listAll('items', { tag: 'third', limit });
  expect(idsOf(found)).toEqual(expected);
  expect(found.every(({ tags, handler }) => tags?.join() === 'items,third' && handler === 'items')).toBe(true);
  expect(idsOf(await listAll(null, { tag: 'third', limit }))).toEqual(await stored('third'));
  expect(idsOf(await listAll('items', { tag: 'third', target: 'a', limit }))).toEqual(
    await stored('third', { handler: 'items', target: 'a' }),
  );
  expect(await listAll('letters', { tag: 'items', limit })).toEqual([]);
});

test.each(STATES)('only those that are %s', async (state) => {
  const expected = await stored('third', { handler: 'others', state });
  expect(expected.length).toBeGreaterThan(0);
  for (const limit of [1, 5, 1_000])
    expect(idsOf(await listAll('others', { tag: 'third', state, limit }))).toEqual(expected);
  // A page is filled with what matches, and is not of what is left of a page.
  const { tasks: one } = await client.tasks.list('others', { tag: 'third', state, limit: 1 });
  expect(idsOf(one)).toEqual(expected.slice(0, 1));
  expect(idsOf(await listAll(null, { tag: 'third', state }))).toEqual(await stored('third', { state }));
});

test('by error and by time, too', async () => {
  const dead = { tag: 'third', state: 'dead' } as const;
  const found = await listAll('items', { ...dead, error: 'of items-a-42', limit: 1 });
  expect(idsOf(found)).toEqual(['items-a-42']);
  const old = { tag: 'third', state: 'succeeded', until: Date.now() - 1_800_000 } as const;
  expect(idsOf(await listAll('items', old)).sort()).toEqual(
    ['a', 'b'].flatMap((to) => [24, 27].map((i) => `items-${to}-${i}`)),
  );
  expect(await listAll('items', { ...dead, since: Date.now() + 60_000 })).toEqual([]);
});

test('what stands beside a tag wrongly is refused by name', async () => {
  for (const [handler, options, message] of [
    ['items', { tag: '' }, /^tag: expected 1-100 bytes of well-formed text without NUL/],
    ['items', { tag: 'x'.repeat(101) }, /^tag: expected 1-100 bytes/],
    ['items', { tag: 'x', since: 'soon' }, /^since: expected a date/],
    ['items', { tag: 'x', after: 'y' }, /^after: expected the `next` of a page of tagged tasks/],
    [null, { tag: 'x', target: 'a' }, /^target: expected none without a handler/],
  ] as const)
    await expect(client.tasks.list(handler, options)).rejects.toThrow(message);
});
