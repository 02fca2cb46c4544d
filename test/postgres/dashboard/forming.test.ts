import { readForming } from '../../../postgres/dashboard/forming';
import { COALESCE_PREFIX } from '../../../workflows/planning/grouping/coalescing';
import type { Place } from '../rows/rows';
import { at, Rows } from '../rows/rows';

/** The batch that a target's waiting tasks would make now, as an operator sees it. */

let rows: Rows;
beforeAll(async () => {
  rows = await Rows.open();
});
afterAll(() => rows.close());

const queue = async ({ targetId }: Place, ...columns: object[]): Promise<void> => {
  for (const one of columns) {
    const seq = await rows.task({ targetId });
    await rows.insert('queue', { target_id: targetId, seq, ready_at: at(-1_000), bytes: 1, ...one });
  }
};

test('it has each waiting task of the target once, and none of another one', async () => {
  const place = await rows.place('plain', { handler: { overhead_bytes: 10 } });
  await queue(place, { bytes: 3 }, { bytes: 4, weight: 2.5 });
  await queue(await rows.target(place, 'other'), { bytes: 50 });
  expect(await readForming(rows.pool, place.handlerId, 'to')).toMatchObject({
    key: 'to',
    items: 2,
    bytes: 17,
    weight: 3.5,
    more: false,
    openBatches: [],
  });
  expect(await readForming(rows.pool, place.handlerId, 'nowhere')).toBeNull();
});

test('it has at most as many as a batch may have, those of the first priority first', async () => {
  const place = await rows.place('many', { handler: { max_items: 2 } });
  await queue(place, { bytes: 100, priority: 1 }, { bytes: 3 }, { bytes: 4 });
  expect(await readForming(rows.pool, place.handlerId, 'to')).toMatchObject({ items: 2, bytes: 7, more: true });
});

test('of tasks that are coalesced it has the last of each key', async () => {
  const place = await rows.place('coalesced', { handler: { coalesces: true } });
  const [a, b] = [`${COALESCE_PREFIX}a`, `${COALESCE_PREFIX}b`];
  await queue(place, { bytes: 3, key: a }, { bytes: 4, key: b }, { bytes: 5, key: a });
  expect(await readForming(rows.pool, place.handlerId, 'to')).toMatchObject({ items: 2, bytes: 9, more: false });
});

test('it says what is in flight, unknown, delayed and open beside it', async () => {
  const place = await rows.place('beside');
  const other = await rows.target(place, 'other');
  const open = await rows.batch(place, { members: [1, 2, 3], n_left: 1, attempt: 1, started_at: at(0) });
  await rows.batch(place, { state: 3, attempt: 1, started_at: at(0) });
  await rows.batch(place, { state: 5, attempt: 1, started_at: at(0), finished_at: at(0) });
  await rows.batch(other);
  for (const { targetId } of [place, other]) {
    const seq = await rows.task({ targetId });
    await rows.insert('delayed', { target_id: targetId, seq, not_before: at(60_000), bytes: 1 });
  }
  expect(await readForming(rows.pool, place.handlerId, 'to')).toMatchObject({
    items: 0,
    inFlight: 2,
    unknown: 1,
    delayed: 1,
    openBatches: [{ id: open, n: 2, attempts: 1, reference: null }],
  });
});
