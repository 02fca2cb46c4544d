import fc from 'fast-check';
import type { Client, ListTasksOptions, TaskSummary } from '../../../client';
import { acceptedIn } from '../../../client/tasks/list/accepted';
import type { Shop } from '../shop';
import { clientOf, cut, itemHandler, items, openShop } from '../shop';

/** Tasks that have not ended, by when they were accepted: each of the time is listed once. @slow */

let shop: Shop;
let client: Client;
beforeAll(async () => {
  shop = await openShop();
  client = clientOf(shop, 'accepted', itemHandler({ name: 'letters', service: (to) => to }));
  await fill();
}, 120_000);
afterAll(async () => {
  await client.close();
  await shop.stop();
});

const START = Date.parse('2026-01-01T00:00:00Z');
const MINUTE = 60_000;

/**
 * A task per minute, in places of every kind; every seventh was drawn 50 s after its statement had
 * read the clock.
 */
const fill = async (): Promise<void> => {
  const { pool } = shop;
  for (let i = 0; i < 60; i++) {
    const task = { ...items('cab'[i % 3]!, `i-${i}`)[0]!, priority: i % 2, tags: i % 4 === 0 ? ['fourth'] : [] };
    const waits =
      i % 5 === 1 ? { notBefore: '2099-01-01' } : i % 5 === 2 && i > 30 ? { dependsOn: [`i-${i - 1}`] } : {};
    await client.submit('items', { ...task, ...waits });
    await client.submit('letters', items(i % 2 === 0 ? 'even' : 'odd', `l-${i}`));
  }
  await client.submitBatch('letters', 'odd', items('odd', 'b-1', 'b-2'));
  await cut(pool, ['i-3', 'i-18', 'i-33', 'i-48'], { state: 1, attempt: 1 });
  await cut(pool, ['i-0', 'i-15', 'i-30'], { state: 3, error: 'the answer was lost' });
  await pool.query({
    text: `
update task k
set created_at = to_timestamp($1::float8 / 1000) + (n.i - case when n.i % 7 = 0 then 1.7 else 0 end) * interval '30 s'
from (select seq, row_number() over (order by seq) as i from task) n
where n.seq = k.seq`,
    values: [START],
  });
};

const stored = async (
  handler: string,
  states: readonly number[],
  { since, until }: { since: number; until: number },
): Promise<string[]> => {
  const { rows } = await shop.pool.query<{ id: string }>({
    text: `
select s.id from task_state s join target t on t.id = s.target_id join handler h on h.id = t.handler_id
  join task k on k.seq = s.seq
where h.name = $1 and s.state = any($2) and k.created_at >= to_timestamp($3::float8 / 1000)
  and k.created_at < to_timestamp($4::float8 / 1000)
order by s.seq desc`,
    values: [handler, states, since, until],
  });
  return rows.map(({ id }) => id);
};

const listAll = async (handler: string | null, options: ListTasksOptions): Promise<TaskSummary[]> => {
  const all: TaskSummary[] = [];
  for (let after: string | undefined; ;) {
    const { tasks, next } = await client.tasks.list(handler, { ...options, ...(after === undefined ? {} : { after }) });
    all.push(...tasks);
    if (next === null) return all;
    after = next;
  }
};
const idsOf = async (handler: string | null, options: ListTasksOptions): Promise<string[]> =>
  (await listAll(handler, options)).map(({ id }) => id);

const TIMES = [
  { since: START, until: START + 120 * MINUTE },
  { since: START + 10 * MINUTE, until: START + 20 * MINUTE },
  { since: START + 17.25 * MINUTE, until: START + 41 * MINUTE },
  { since: START + 30 * MINUTE, until: START + 30 * MINUTE },
  { since: START + 200 * MINUTE, until: START + 300 * MINUTE },
  { since: START - 200 * MINUTE, until: START + 3 * MINUTE },
];

test.each(TIMES)('waiting tasks of $since to $until come newest first, or as asked, of any page size', async (time) => {
  const expected = await stored('items', [0], time);
  for (const limit of [1, 3, 1_000]) {
    expect(await idsOf('items', { state: 'created', ...time, limit })).toEqual(expected);
    expect(await idsOf('items', { state: 'created', order: 'oldest', ...time, limit })).toEqual(expected.toReversed());
    const ofB = (await listAll('items', { state: 'created', target: 'b', ...time, limit })).map(({ id }) => id);
    const all = await listAll('items', { state: 'created', target: 'b' });
    expect(ofB).toEqual(expected.filter((id) => all.some((task) => task.id === id)));
    const tagged = await idsOf('items', { state: 'created', tag: 'fourth', ...time, limit });
    expect(tagged).toEqual(expected.filter((id) => Number(id.slice(2)) % 4 === 0));
  }
});

test.each(TIMES)('tasks of lanes, of open batches and of unknown ones are of $since to $until, too', async (time) => {
  for (const [handler, state, number] of [
    ['letters', 'created', 0],
    ['letters', 'batched', 1],
    ['items', 'in-progress', 2],
    ['items', 'unknown', 3],
  ] as const)
    for (const limit of [1, 1_000]) {
      const found = await idsOf(handler, { state, ...time, limit });
      expect({ state, ids: found.toSorted() }).toEqual({
        state,
        ids: (await stored(handler, [number], time)).toSorted(),
      });
    }
});

test('tasks with a tag are of the time at which they were accepted, in any state and of all handlers', async () => {
  for (const time of TIMES) {
    const expected = (await stored('items', [0, 1, 2, 3], time)).filter((id) => Number(id.slice(2)) % 4 === 0);
    for (const limit of [1, 1_000]) {
      expect(await idsOf('items', { tag: 'fourth', ...time, limit })).toEqual(expected);
      expect(await idsOf(null, { tag: 'fourth', ...time, limit })).toEqual(expected);
    }
  }
});

test('one bound alone is enough', async () => {
  const [since, until] = [START + 20 * MINUTE, START + 40 * MINUTE];
  const ever = { since: START - MINUTE, until: Date.parse('2100-01-01') };
  expect(await idsOf('items', { state: 'created', since })).toEqual(await stored('items', [0], { ...ever, since }));
  expect(await idsOf('items', { state: 'created', until })).toEqual(await stored('items', [0], { ...ever, until }));
});

test('a page goes on where it ended while others are submitted and sent', async () => {
  const time = { since: START + 10 * MINUTE, until: START + 30 * MINUTE };
  const expected = await stored('items', [0], time);
  const first = await client.tasks.list('items', { state: 'created', ...time, limit: 4 });
  await client.submit('items', items('a', 'later-1', 'later-2'));
  await cut(shop.pool, [expected[5]!], { state: 4 });
  const { tasks, next } = await client.tasks.list('items', { state: 'created', ...time, after: first.next! });
  expect([...first.tasks, ...tasks].map(({ id }) => id)).toEqual(expected.filter((_, i) => i !== 5));
  expect(next).toBeNull();
});

test('no task of a time is outside of its range, however the statements were delayed', async () => {
  const { rows: ids } = await shop.pool.query<{ seq: number }>('select seq from task order by seq');
  const gaps = fc.array(
    fc.record({ gapMs: fc.integer({ min: 0, max: 90_000 }), lateMs: fc.integer({ min: 0, max: 60_000 }) }),
    {
      minLength: ids.length,
      maxLength: ids.length,
    },
  );
  await fc.assert(
    fc.asyncProperty(gaps, fc.double({ min: -0.1, max: 1.1, noNaN: true }), async (each, share) => {
      let drawn = START;
      const at = each.map(({ gapMs, lateMs }) => (drawn += gapMs) - lateMs);
      await shop.pool.query({
        text: `
update task k set created_at = to_timestamp(n.ms / 1000)
from unnest($1::bigint[], $2::float8[]) n (seq, ms) where k.seq = n.seq`,
        values: [ids.map(({ seq }) => seq), at],
      });
      const time = new Date(Math.floor(START + share * (drawn - START)));
      const since = await acceptedIn(shop.pool, { since: time, until: null });
      const until = await acceptedIn(shop.pool, { since: null, until: time });
      ids.forEach(({ seq }, i) => {
        if (at[i]! >= time.getTime()) expect(seq).toBeGreaterThanOrEqual(since.from);
        else expect(seq).toBeLessThanOrEqual(until.to);
      });
    }),
    { numRuns: 40 },
  );
});
