import { addItems, openFanout } from '../../client/fanouts/fanout';
import type { TestDatabase } from '../helpers/database';
import { createDatabase } from '../helpers/database';
import { bitsOf, latencyOf, rowsOf } from './measures/fanoutMeasures';

/**
 * `bench:fanout` in small: its measures run, and what does not depend on the machine is as
 * promised. The long form: `npm run bench:fanout`.
 *
 * @slow
 */

let database: TestDatabase;
beforeEach(async () => {
  database = await createDatabase();
});
afterEach(() => database.drop());

test('at 8,000 bits and 1,000,000 items: at most half a byte an item, all rows and indexes counted', async () => {
  // Tables, indexes and toast. Not the maps of free and visible pages: a vacuum makes them when it
  // likes, of a fixed size each.
  const size = `
select sum(pg_relation_size(c.oid, 'main'))::float8 as bytes from pg_class t
  join lateral (select t.oid union all select t.reltoastrelid where t.reltoastrelid <> 0 union all
    select i.indexrelid from pg_index i where i.indrelid in (t.oid, t.reltoastrelid)) c (oid) on true
where t.oid in ('fanout'::regclass, 'segment'::regclass, 'fanout_add'::regclass)`;
  const { id } = await openFanout(database.pool, { segmentSize: 8_000 });
  await addItems(database.pool, id, 1_000_000);
  const { rows } = await database.pool.query<{ bytes: number }>(size);
  expect(rows[0]!.bytes / 1_000_000).toBeLessThanOrEqual(0.5);
});

test('the measures run', async () => {
  const bits = await bitsOf(database.pool, 512, 12_000);
  const rows = await rowsOf(database.pool, 12_000);
  for (const one of [bits, rows])
    for (const value of Object.values(one)) if (typeof value === 'number') expect(value).toBeGreaterThan(0);
  expect(bits.bytesPerItem).toBeLessThan(rows.bytesPerItem / 5);
  expect(await latencyOf(database.pool, 3)).toMatchObject({
    answerMs: { p50: expect.any(Number) },
    waitingMs: { p99: expect.any(Number) },
  });
});
