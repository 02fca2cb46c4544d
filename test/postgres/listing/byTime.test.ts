import { halveToTime, walkBeforeTime, walkToTime } from '../../../postgres/listing/accepted';
import { walkWaitingAfter, walkWaitingBefore } from '../../../postgres/listing/byTime';
import type { Place } from '../rows/rows';
import { at, Rows } from '../rows/rows';

/** Tasks by the time at which they were accepted: seqs 10, 20, 30 and so on, a second apart. */

let rows: Rows;
let mine: Place;
let other: Place;
const FIRST_MS = Date.UTC(2026, 0, 1);
const msOf = (seq: number): number => FIRST_MS + seq * 100;

/** The tasks of a handler that wait, of those of another one, and of one that is in a batch. */
const PLACES = ['queue', 'delayed', 'batch', 'held', 'queue', 'other', 'held', 'delayed'];
const WAITING = [10, 20, 40, 50, 70, 80];
beforeAll(async () => {
  rows = await Rows.open();
  mine = await rows.place('mine');
  other = await rows.place('other');
  for (const [i, where] of PLACES.entries()) {
    const seq = (i + 1) * 10;
    const { targetId } = where === 'other' ? other : mine;
    await rows.task({ targetId }, { seq, created_at: new Date(msOf(seq)) });
    const row = { seq, target_id: targetId };
    if (where === 'delayed') await rows.insert('delayed', { ...row, not_before: at(60_000), bytes: 1 });
    else if (where === 'held') await rows.insert('held', row);
    else if (where !== 'batch') await rows.insert('queue', { ...row, ready_at: at(0), bytes: 1 });
  }
});
afterAll(() => rows.close());

test.each([
  ['before all', 5, 0, 10],
  ['at the first', 10, 0, 10],
  ['just after one', 10.01, 11, 20],
  ['at one', 40, 31, 40],
  ['between two', 45, 41, 50],
  ['at the last', 80, 71, 80],
  ['after all', 81, 81, null],
])('a time %s leads to the seq from which on tasks are as late', async (_, where, seq, next) => {
  const ms = msOf(where);
  expect(await halveToTime(rows.pool, ms)).toBe(seq);
  expect(await walkToTime(rows.pool, ms, seq)).toEqual({ seq: next, isFound: next !== null });
  const last = seq === 0 ? null : seq - 1;
  expect(await walkBeforeTime(rows.pool, ms, seq)).toEqual({ seq: last, isFound: last !== null });
});

test('in a store without tasks every time leads to the start', async () => {
  const empty = await Rows.open();
  try {
    expect(await halveToTime(empty.pool, FIRST_MS)).toBe(0);
  } finally {
    await empty.close();
  }
});

test('a walk finds the tasks of the handler that wait, wherever they wait, and no others', async () => {
  const all = { page: 100, looked: 100 };
  expect(await walkWaitingAfter(rows.pool, mine.handlerId, 0, { ...all, end: 1_000 })).toEqual(WAITING);
  expect(await walkWaitingBefore(rows.pool, mine.handlerId, 1_000, { ...all, end: 0 })).toEqual(WAITING.toReversed());
  expect(await walkWaitingAfter(rows.pool, other.handlerId, 0, { ...all, end: 1_000 })).toEqual([60]);
});

test('a walk goes from after a place to its end, a page of what it has looked at', async () => {
  const { pool } = rows;
  const id = mine.handlerId;
  expect(await walkWaitingAfter(pool, id, 10, { page: 100, looked: 100, end: 70 })).toEqual([20, 40, 50, 70]);
  expect(await walkWaitingBefore(pool, id, 80, { page: 100, looked: 100, end: 20 })).toEqual([70, 50, 40, 20]);
  expect(await walkWaitingAfter(pool, id, 0, { page: 2, looked: 100, end: 1_000 })).toEqual([10, 20]);
  expect(await walkWaitingBefore(pool, id, 1_000, { page: 2, looked: 100, end: 0 })).toEqual([80, 70]);
  expect(await walkWaitingAfter(pool, id, 0, { page: 100, looked: 3, end: 1_000 })).toEqual([10, 20]);
  expect(await walkWaitingBefore(pool, id, 1_000, { page: 100, looked: 3, end: 0 })).toEqual([80, 70]);
});
