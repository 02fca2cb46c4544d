import { WaitTimeoutError } from '../../client';
import { TASK_STATES } from '../../workflows/planning/states';
import type { Shop } from './shop';
import { cut, items, openShop } from './shop';

/** @slow */

let shop: Shop;
beforeAll(async () => {
  shop = await openShop();
});
afterAll(() => shop.stop());

test('resolves when the last one has ended, parked ones included, in the order of the ids', async () => {
  await shop.client.submit('items', items('se', 'a', 'b', 'c'));
  await cut(shop.pool, ['a'], { state: TASK_STATES.succeeded });
  const looks: number[] = [];
  const next = [
    () => cut(shop.pool, ['b'], { state: TASK_STATES.unknown }),
    () => cut(shop.pool, ['c'], { state: TASK_STATES.failed, error: 'no' }),
  ];
  const waiting = shop.client.waitFor(['c', 'a', 'b', 'a'], {
    onProgress: ({ ended, total }) => {
      expect(total).toBe(3);
      looks.push(ended);
      // The next one ends only after the wait has seen the one before.
      if (ended > (looks.at(-2) ?? 0)) void next.shift()?.();
    },
  });
  const tasks = await waiting;
  expect(tasks.map(({ id, state }) => `${id} ${state}`)).toEqual(['c failed', 'a succeeded', 'b unknown']);
  expect(looks[0]).toBe(1);
  expect(looks.at(-1)).toBe(3);
  expect(looks).toEqual([...looks].sort());
});

test('times out with the states of what is open, which goes on', async () => {
  await shop.client.submit('items', items('no', 'open1', 'open2', 'open3', 'ended'));
  await cut(shop.pool, ['open2']);
  await cut(shop.pool, ['ended'], { state: TASK_STATES.dead });
  const from = performance.now();
  const failure = await shop.client
    .waitFor(['open1', 'open2', 'open3', 'ended'], { timeoutMs: 120 })
    .catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(WaitTimeoutError);
  expect(failure).toMatchObject({ code: 'TIMEOUT', timeoutMs: 120, open: { created: 2, batched: 1 } });
  expect((failure as Error).message).toContain('3 tasks have not ended after 120 ms (2 created, 1 batched)');
  expect(performance.now() - from).toBeGreaterThanOrEqual(119);
  await expect(shop.client.waitFor('open1', { timeoutMs: 0 })).rejects.toThrow(
    '1 task has not ended after 0 ms (1 created)',
  );
});

test('an unknown id is told at once', async () => {
  await expect(shop.client.waitFor(['open1', 'nobody'])).rejects.toMatchObject({ code: 'NOT_FOUND' });
  await expect(shop.client.waitFor('nobody')).rejects.toThrow(/^Task "nobody" not found\./);
});

test('an aborted wait rejects with the reason of the signal', async () => {
  const stop = new AbortController();
  const waiting = shop.client.waitFor('open1', {
    signal: stop.signal,
    onProgress: () => stop.abort(new Error('enough')),
  });
  await expect(waiting).rejects.toThrow('enough');
  await expect(shop.client.waitFor('open1', { signal: stop.signal })).rejects.toThrow('enough');
});

test('bad arguments are refused', async () => {
  await expect(shop.client.waitFor([''])).rejects.toThrow('ids[0]: expected a non-empty string without NUL, got "".');
  await expect(shop.client.waitFor({} as never)).rejects.toThrow('ids: expected a task id or a list of them, got {}.');
  await expect(shop.client.waitFor('open1', { timeoutMs: -1 })).rejects.toThrow(
    'timeoutMs: expected a whole number from 0 to 2147483647, got -1.',
  );
  await expect(shop.client.waitFor('open1', { onProgress: 1 as never })).rejects.toThrow(
    'onProgress: expected a function, got 1.',
  );
  expect(await shop.client.waitFor([])).toEqual([]);
});

test('100,000 ids, in statements of a bounded size', async () => {
  await shop.pool.query({
    text: `
insert into task (seq, created_at, target_id, bytes, id, payload)
select 1e12 + i, clock(), t.id, 2, 'many-' || i, '{}' from generate_series(1, 100000) i, (select min(id) as id from target) t`,
  });
  await shop.pool.query({
    text: `
insert into outcome (seq, target_id, state, attempts, at) select seq, target_id, 7, 0, clock() from task where id like 'many-%' and id <> 'many-100000'`,
  });
  await shop.pool.query({
    text: `insert into queue (target_id, seq, ready_at, bytes) select target_id, seq, clock(), 2 from task where id = 'many-100000'`,
  });
  const ids = Array.from({ length: 100_000 }, (_, i) => `many-${i + 1}`);
  let most = 0;
  let last: Promise<number> | null = null;
  const query = shop.client.pool.query.bind(shop.client.pool) as (config: { values?: unknown[] }) => unknown;
  const spy = jest.spyOn(shop.client.pool, 'query').mockImplementation(((config: { values?: unknown[] }) => {
    for (const value of config.values ?? []) if (Array.isArray(value)) most = Math.max(most, value.length);
    return query(config);
  }) as never);
  try {
    const tasks = await shop.client.waitFor(ids, {
      onProgress: ({ ended }) => {
        if (ended === 99_999 && !last) last = cut(shop.pool, ['many-100000'], { state: TASK_STATES.succeeded });
      },
    });
    expect(tasks.length).toBe(100_000);
    expect(tasks.at(-1)).toMatchObject({ id: 'many-100000', state: 'succeeded' });
    expect(most).toBe(5_000);
  } finally {
    spy.mockRestore();
  }
});
