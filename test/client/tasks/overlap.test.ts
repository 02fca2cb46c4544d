import type { TaskInput } from '../../../client';
import type { Order } from './largeCalls';
import { COUNT, all, call, nothing, overlapped, seen, stored, submit, useLargeCalls, whole } from './largeCalls';

/** Large plain calls are stored while their later tasks are checked; others are checked first. */

/** Calls of a handler that are checked first after one that was not plain. */
const SKIPPED = 15;

useLargeCalls();

test('a transaction has begun before the last task of a plain call is checked', async () => {
  const result = await submit(call('plain'));
  expect(result).toMatchObject({ accepted: COUNT, repeated: 0, refused: [] });
  expect(new Set(result.targetIds).size).toBe(10);
  expect(overlapped()).toBe(true);
  expect(seen.checked).toBe(COUNT);
  expect(await stored('plain')).toEqual(whole);
});

test('times, expiries and labels of a plain call are stored with it', async () => {
  const at = new Date(Date.now() + 3_600_000);
  await submit(call('marked', { notBefore: at, expiresAt: at, tags: ['vip'], metadata: { a: 'b' } }));
  expect(overlapped()).toBe(true);
  expect(await stored('marked')).toEqual({ ...whole, queued: COUNT - 1, delayed: 1, late: 1 });
  expect(await seen.client.tasks.get(`marked-${COUNT - 1}`)).toMatchObject({ tags: ['vip'], metadata: { a: 'b' } });
});

test('a refused task at the end undoes what was written before it, and is told as ever', async () => {
  const refused = { index: COUNT - 1, id: `refused-${COUNT - 1}`, field: 'target' };
  const tasks = call('refused', { payload: { to: 't1', fault: 'no such target' } });
  await expect(submit(tasks)).rejects.toMatchObject({ problems: [refused] });
  expect(overlapped()).toBe(true);
  expect(seen.checked).toBe(COUNT);
  expect(await stored('refused')).toEqual(nothing);
  expect(await submit(tasks, { partial: true })).toMatchObject({ accepted: COUNT - 1, refused: [refused] });
});

test('a refused task in the middle stops the storing, and all problems are told', async () => {
  const tasks = call('middle', { payload: { to: 't1', fault: 'last' } });
  tasks[1_000] = { ...tasks[1_000]!, payload: { to: 't1', fault: 'middle' } };
  await expect(submit(tasks)).rejects.toMatchObject({ problems: [{ index: 1_000 }, { index: COUNT - 1 }] });
  expect(seen.undone).toEqual([1_100]);
});

const usual: [string, Partial<TaskInput<Order>>, object, object][] = [
  ['target', { payload: { to: 'new' } }, all, { tasks: COUNT }],
  ['callback', { callback: { url: 'https://example.com/' } }, all, { told: 1 }],
  ['dependency', { dependsOn: ['end-dependency-0'] }, all, { queued: COUNT - 1, held: 1 }],
  ['twin', { id: 'end-twin-9', payload: { to: 't9' } }, { accepted: COUNT - 1, repeated: 1 }, { queued: COUNT - 1 }],
];
test.each(usual)('a call that ends with a new %s is stored in the usual way', async (what, last, result, rows) => {
  expect(await submit(call(`end-${what}`, last))).toMatchObject(result);
  expect(overlapped()).toBe(true);
  expect(await stored(`end-${what}`)).toMatchObject(rows);
});

test('tasks that exist already are the same tasks', async () => {
  await submit(call('again').slice(0, 1_500));
  expect(await submit(call('again'))).toMatchObject({ accepted: COUNT - 1_500, repeated: 1_500 });
  expect(await stored('again')).toEqual(whole);
});

test('calls not plain at their start begin no transaction; after one at its end others are not tried', async () => {
  const first = { ...call('first')[0]!, payload: { to: 't0', fault: 'wrong' } };
  await expect(submit([first, ...call('first').slice(1)])).rejects.toMatchObject({ problems: [{ index: 0 }] });
  expect(overlapped()).toBe(false);
  await submit([{ ...call('told')[0]!, callback: { url: 'https://example.com/' } }, ...call('told').slice(1)]);
  expect(overlapped()).toBe(false);
  await submit(call('tried'));
  expect(overlapped()).toBe(true);
  await submit(call('late', { payload: { to: 'one more' } }));
  for (let n = 0; n < SKIPPED; n++) {
    await submit(call(`skipped-${n}`));
    expect(overlapped()).toBe(false);
  }
  await submit(call('once more'));
  expect(overlapped()).toBe(true);
});
