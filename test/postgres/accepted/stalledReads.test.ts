import { readStalledReads } from '../../../postgres/sweeper/stalledReads';
import type { Place } from '../rows/rows';
import { at, Rows } from '../rows/rows';

/** Reads that have stalled, among many batches that a downstream has. */

/** More than a look by the next polls could pass over. */
const POLLED = 20_000;

let rows: Rows;
let place: Place;
beforeAll(async () => {
  rows = await Rows.open();
  place = await rows.place('jobs');
});
afterAll(() => rows.close());

test('a read that has stalled is named behind any number of batches that are polled sooner', async () => {
  const accepted = { attempt: 1, started_at: at(-1_000), reference: 'job' };
  const stalled = await rows.batch(place, { ...accepted, poll_at: at(18_000), read_at: at(-90_000) });
  await rows.batch(place, { ...accepted, poll_at: at(18_000), read_at: at(-30_000) }); // it gets on
  await rows.batch(place, { ...accepted, poll_at: at(-1_000), read_at: at(-90_000) }); // its reader is gone
  await rows.query(
    `insert into batch (target_id, leader_id, epoch, turn, reason, members, n, bytes, weight, created_at, attempt,
       started_at, reference, poll_at)
     select target_id, leader_id, epoch, turn, reason, array[1000 + i], 1, 1, 1, created_at, 1,
       started_at, 'job ' || i, clock() + interval '5 s'
     from batch cross join generate_series(1, ${POLLED}) i where id = ${stalled}`,
  );
  expect(await readStalledReads(rows.pool, 10)).toEqual([{ handler: 'jobs', batch: stalled, ms: expect.any(Number) }]);
});
