import type { Client, ListTasksOptions, TaskSummary } from '../../../client';
import { TASK_STATES } from '../../../workflows/planning/states';
import type { TaskState } from '../../../workflows/planning/states';
import type { Shop } from '../shop';
import { clientOf, cut, endAlone, itemHandler, items, openShop } from '../shop';

/**
 * Lists of tasks by state, over a store with tasks in every place that they can be in: each page
 * size must give every task of the state once.
 *
 * @slow
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

/** Not in their order: what is later in the list may have older batches. */
const TARGETS = ['c', 'a', 'b'];
const IN_ORDER = TARGETS.toSorted();
const HOUR = 3_600_000;

const fill = async (): Promise<void> => {
  const { pool } = shop;
  for (const handler of ['items', 'others'])
    for (const to of TARGETS) {
      const ids = Array.from({ length: 60 }, (_, i) => `${handler}-${to}-${i}`);
      await client.submit(handler, [
        ...items(to, ...ids).map((task, i) => ({ ...task, priority: i % 3 })),
        ...items(to, `${handler}-${to}-later`, `${handler}-${to}-latest`).map((task, i) => ({
          ...task,
          notBefore: Date.now() + (i + 1) * HOUR,
        })),
        { ...items(to, `${handler}-${to}-held`)[0]!, dependsOn: [ids[0]!] },
      ]);
      const part = (from: number, to_: number): string[] => ids.slice(from, to_);
      await cut(pool, part(10, 14), { state: 1 });
      await cut(pool, part(14, 18), { state: 1, attempt: 1 });
      await cut(pool, part(18, 21), { state: 3, error: 'the answer was lost' });
      // Whole batches, some that ended at the same moment.
      for (const [i, from] of [21, 24, 27, 30].entries())
        await cut(pool, part(from, from + 3), { state: 4, finishedAgoMs: i * 1_000 });
      await cut(pool, part(33, 37), { state: 5, error: 'status 503', finishedAgoMs: 2_000 });
      await cut(pool, part(37, 40), { state: 6, error: 'given up', finishedAgoMs: 60_000 });
      // Single ends within batches that ended otherwise.
      await cut(pool, part(40, 50), { state: 4, finishedAgoMs: 500 });
      for (const id of part(41, 44)) await endAlone(pool, id, 5, `status 404 of ${id}`);
      await endAlone(pool, ids[45]!, 6, 'given up');
      await client.cancel(part(50, 53));
    }
  // Failed, sent again, and failed anew in another batch: it is one failed task.
  const again = ['items-a-again'];
  await client.submit('items', items('a', ...again, 'items-a-beside'));
  await cut(pool, [...again, 'items-a-beside'], { state: 5, error: 'first', finishedAgoMs: 9_000 });
  await client.redrive('items', { only: 'failed', ids: again });
  await cut(pool, again, { state: 5, error: 'second' });
  await client.submit('letters', items('lane-1', 'letter-1', 'letter-2', 'letter-3'));
  await client.submitBatch('letters', 'lane-2', items('lane-2', 'letter-4', 'letter-5'));
};

/** All that the store has, read another way. */
const stored = async (handler: string, state: TaskState, target?: string): Promise<string[]> => {
  const { rows } = await shop.pool.query<{ id: string }>({
    text: `
select s.id from task_state s join target t on t.id = s.target_id join handler h on h.id = t.handler_id
where h.name = $1 and s.state = $2 and ($3::text is null or t.key = $3)`,
    values: [handler, TASK_STATES[state], target ?? null],
  });
  return rows.map(({ id }) => id).sort();
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

const STATES = Object.keys(TASK_STATES) as TaskState[];
const SIZES = [1, 2, 3, 7, 100, 1_000];

test.each(STATES)('every %s task of a handler is listed once, whatever the size of the pages', async (state) => {
  for (const handler of ['items', 'others', 'letters']) {
    const expected = await stored(handler, state);
    for (const limit of SIZES) {
      const found = await listAll(handler, { state, limit });
      expect({ handler, limit, ids: found.map(({ id }) => id).sort() }).toEqual({ handler, limit, ids: expected });
      expect(found.every((task) => task.state === state)).toBe(true);
    }
  }
  const of = state === 'created' ? ['items', 'others', 'letters'] : state === 'batched' ? ['letters'] : ['items'];
  for (const handler of of) expect((await stored(handler, state)).length).toBeGreaterThan(0);
});

test.each(STATES)('of one target, every %s task is listed once', async (state) => {
  const expected = await stored('items', state, 'b');
  for (const limit of SIZES) {
    const found = await listAll('items', { state, target: 'b', limit });
    expect({ limit, ids: found.map(({ id }) => id).sort() }).toEqual({ limit, ids: expected });
  }
  expect(expected.length).toBeGreaterThan(0);
});

test.each(['succeeded', 'failed', 'dead', 'cancelled'] as const)('%s tasks come newest first', async (state) => {
  for (const limit of [2, 1_000]) {
    const times = (await listAll('items', { state, limit })).map(({ finishedAt }) => Date.parse(finishedAt!));
    expect(times).toEqual(times.toSorted((a, b) => b - a));
  }
});

test('tasks that wait come as they will be sent: by target and priority, then those with a later time', async () => {
  const found = await listAll('items', { state: 'created', limit: 7 });
  const queued = found.filter(({ id }) => /-\d+$/.test(id));
  const order = queued.map(({ target, priority, createdAt }) => [target, priority, createdAt] as const);
  const sorted = order.toSorted(([a, p], [b, q]) => (a < b ? -1 : a > b ? 1 : p - q));
  expect(order).toEqual(sorted);
  expect(found.slice(queued.length).map(({ id }) => id)).toEqual([
    ...IN_ORDER.flatMap((to) => [`items-${to}-later`, `items-${to}-latest`]),
    ...IN_ORDER.map((to) => `items-${to}-held`),
  ]);
});

test.each(['newest', 'oldest'] as const)(
  'tasks that wait come %s first, over all targets and places',
  async (order) => {
    const { rows } = await shop.pool.query<{ id: string; key: string }>(`
select s.id, t.key from task_state s join target t on t.id = s.target_id join handler h on h.id = t.handler_id
where h.name = 'items' and s.state = 0 order by s.seq ${order === 'newest' ? 'desc' : ''}`);
    for (const limit of [1, 7, 1_000]) {
      const found = await listAll('items', { state: 'created', order, limit });
      expect(found.map(({ id }) => id)).toEqual(rows.map(({ id }) => id));
      const ofB = await listAll('items', { state: 'created', order, limit, target: 'b' });
      expect(ofB.map(({ id }) => id)).toEqual(rows.flatMap(({ id, key }) => (key === 'b' ? [id] : [])));
    }
    expect(rows.length).toBeGreaterThan(30);
    const { next } = await client.tasks.list('items', { state: 'created', order, limit: 1 });
    for (const other of [undefined, order === 'newest' ? ('oldest' as const) : ('newest' as const)])
      await expect(
        client.tasks.list('items', {
          state: 'created',
          after: next!,
          ...(other === undefined ? {} : { order: other }),
        }),
      ).rejects.toThrow(/^after: expected the `next`/);
  },
);

test('only tasks whose error contains a text are listed, also where few do', async () => {
  const failed = await listAll('items', { state: 'failed', error: 'status 404', limit: 2 });
  expect(failed.map(({ id }) => id).sort()).toEqual(
    IN_ORDER.flatMap((to) => [41, 42, 43].map((i) => `items-${to}-${i}`)),
  );
  expect(failed[0]).toEqual({
    id: expect.any(String),
    handler: 'items',
    target: expect.any(String),
    state: 'failed',
    attempts: 1,
    batch: expect.any(Number),
    createdAt: expect.any(String),
    priority: expect.any(Number),
    error: expect.stringMatching(/^status 404 of items-/),
    finishedAt: expect.any(String),
  });
  expect(await listAll('items', { state: 'failed', error: 'STATUS', limit: 2 })).toEqual([]);
  expect(await listAll('items', { state: 'failed', error: "'; drop table task; --" })).toEqual([]);
});

test('one page looks for a text behind many other errors', async () => {
  const all = await listAll('items', { state: 'failed' });
  expect(all.length).toBeGreaterThan(10); // parts of a page, each of which finds one task
  const { id, error } = all.at(-1)!;
  const { tasks } = await client.tasks.list('items', { state: 'failed', error: error!, limit: 1 });
  expect(tasks.map((task) => task.id)).toEqual([id]);
});

test('a task that failed twice is listed with its last error', async () => {
  const found = (await listAll('items', { state: 'failed' })).filter(({ id }) => id === 'items-a-again');
  expect(found.map(({ error }) => error)).toEqual(['second']);
});

test('what ends while pages are read does not make others be left out or come twice', async () => {
  const ids = Array.from({ length: 30 }, (_, i) => `busy-${i}`);
  await client.submit('items', items('busy', ...ids));
  await cut(shop.pool, ids.slice(0, 10), { state: 5, error: 'old' });
  const first = await client.tasks.list('items', { state: 'failed', target: 'busy', limit: 4 });
  await cut(shop.pool, ids.slice(10, 20), { state: 5, error: 'new' });
  const rest = await listAll('items', { state: 'failed', target: 'busy', limit: 4, after: first.next! });
  expect([...first.tasks, ...rest].map(({ id }) => id).sort()).toEqual(ids.slice(0, 10).sort());
});

test.each([
  [{ state: 'lost' }, /state: expected one of "created"/],
  [{}, /state: expected one of "created"/],
  [{ state: 'failed', limit: 0 }, /limit: expected a whole number from 1 to 1000/],
  [{ state: 'failed', limit: 1_001 }, /limit: expected a whole number from 1 to 1000/],
  [{ state: 'failed', error: '' }, /error: expected a text of 1 to 1000 characters/],
  [{ state: 'failed', error: 'a\0b' }, /error: expected a text of 1 to 1000 characters .without NUL./],
  [{ state: 'failed', after: 'here' }, /after: expected the `next` of a page of failed tasks/],
  [{ state: 'failed', after: 7 }, /after: expected the `next` of a page of failed tasks/],
  [{ state: 'failed', target: 'nowhere' }, /Target "nowhere" of handler "items" not found/],
])('options %j are refused with what was expected', async (options, message) => {
  await expect(client.tasks.list('items', options as ListTasksOptions)).rejects.toThrow(message);
});

test('the place of another list, or one that was changed, is refused', async () => {
  const { next } = await client.tasks.list('items', { state: 'failed', limit: 1 });
  const changed = (change: (values: unknown[]) => void): string => {
    const values = JSON.parse(Buffer.from(next!, 'base64url').toString()) as unknown[];
    change(values);
    return Buffer.from(JSON.stringify(values)).toString('base64url');
  };
  const list = (state: TaskState, after: string) => client.tasks.list('items', { state, after });
  await expect(list('dead', next!)).rejects.toThrow(/after: expected the `next` of a page of dead tasks/);
  for (const change of [
    (values: unknown[]) => values.pop(),
    (values: unknown[]) => (values[2] = 'text'),
    (values: unknown[]) => (values[2] = 1.5),
    (values: unknown[]) => (values[2] = null),
    (values: unknown[]) => (values[1] = 'queued'),
  ])
    await expect(list('failed', changed(change))).rejects.toThrow(/after: expected/);
  // Numbers that no page has are harmless.
  for (const value of [Number.MAX_SAFE_INTEGER, -Number.MAX_SAFE_INTEGER, -1])
    for (const at of [2, 3, 4, 5, 6])
      await list(
        'failed',
        changed((values) => (values[at] = value)),
      );
});

const ENDED = ['succeeded', 'failed', 'dead', 'cancelled'] as const;

test.each(ENDED)('of all handlers, every %s task is listed once, with its handler', async (state) => {
  const expected = [...(await stored('items', state)), ...(await stored('others', state))].toSorted();
  for (const limit of [3, 1_000]) {
    const found = await listAll(null, { state, limit });
    expect(found.map(({ id }) => id).toSorted()).toEqual(expected);
    const others = found.filter(({ handler }) => handler === 'others').map(({ id }) => id);
    expect(others.toSorted()).toEqual(await stored('others', state));
  }
});

test.each(ENDED)(
  '%s tasks are listed from a time on and before another, whatever the size of the pages',
  async (state) => {
    const all = await listAll('items', { state });
    const times = all.map(({ finishedAt }) => Date.parse(finishedAt!));
    const [since, until] = [times[Math.floor(times.length * 0.7)]!, times[Math.floor(times.length * 0.2)]! + 1];
    const within = all.filter((_, i) => times[i]! >= since && times[i]! < until).map(({ id }) => id);
    expect(within.length).toBeGreaterThan(0);
    for (const limit of [1, 4, 1_000]) {
      const found = await listAll('items', { state, since, until: new Date(until), limit });
      expect(found.map(({ id }) => id).toSorted()).toEqual(within.toSorted());
    }
  },
);

test('what is no time, what has no such order, and a target of no handler, is refused by name', async () => {
  for (const [handler, options, message] of [
    ['items', { state: 'failed', since: 'soon' }, /^since: expected a date/],
    ['items', { state: 'created', until: 'soon' }, /^until: expected a date/],
    [null, { state: 'created' }, /^handler: expected one with state created/],
    [null, { state: 'created', order: 'newest' }, /^handler: expected one with state created/],
    ['items', { state: 'failed', order: 'newest' }, /^order: expected state created with it, got "state failed"/],
    [
      'items',
      { state: 'created', order: 'last' as 'newest' },
      /^order: expected one of "newest", "oldest", got "last"/,
    ],
    ['items', { state: 'created', tag: 'x', order: 'newest' }, /^order: expected none with a tag/],
    [
      'letters',
      { state: 'created', order: 'newest' },
      /^order: expected none for handler "letters", whose tasks wait in lanes/,
    ],
    [null, { state: 'failed', target: 'a' }, /^target: expected none without a handler/],
  ] as const)
    await expect(client.tasks.list(handler, options)).rejects.toThrow(message);
});
