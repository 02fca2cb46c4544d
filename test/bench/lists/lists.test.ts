import type { TestDatabase } from '../../helpers/database';
import { createDatabase } from '../../helpers/database';
import { expectWhole } from '../../helpers/whole';
import { createClient } from '../../../client';
import { Retention } from '../../../postgres/sweeper/retention';
import { rowsRead } from '../measures/operationsMeasures';
import type { Figure } from './measure';
import { figures } from './measure';
import { fillStore } from './store';

/**
 * `bench:lists` in small: rows are counted and not time, so that it is the same on any machine.
 * What four times as many tasks cost more is what grows with the store. The long form: `npm run
 * bench:lists`.
 *
 * @slow
 */

let small: TestDatabase;
let large: TestDatabase;
beforeAll(async () => {
  [small, large] = [await createDatabase({ max: 1 }), await createDatabase({ max: 1 })];
  await fillStore(small.pool, 10_000, { fewer: 20 });
  await fillStore(large.pool, 40_000, { fewer: 20 });
});
afterAll(async () => {
  await small.drop();
  await large.drop();
});

test('the store that is measured is whole', async () => {
  const client = createClient({ databaseUrl: small.url, temporal: { address: '127.0.0.1:1' } });
  await expectWhole(client).finally(() => client.close());
});

/** Those that read a part of each table up to a limit, which is above the tables here. */
const UP_TO_A_LIMIT = /^(status|dashboard, overview|dashboard, handler|verify)/;
/** What a page of 100 tasks, and the rows beside it that do not match, may cost at any size. */
const MOST = 12_000;

test('every list and lookup reads about as much of 40,000 tasks as of 10,000', async () => {
  const read = async (database: TestDatabase, tasks: number): Promise<Map<string, Figure>> => {
    const found = new Map<string, Figure>();
    for await (const one of figures(database.url, { tasks, runs: 2, pages: 3 }))
      found.set(`${one.group}: ${one.name}`, one);
    return found;
  };
  const [few, many] = [await read(small, 10_000), await read(large, 40_000)];
  const grown = [...many].filter(
    ([name, { group, rows }]) =>
      group !== 'part of verify' &&
      group !== 'retention' && // here it finds less to delete than it may
      !UP_TO_A_LIMIT.test(many.get(name)!.name) &&
      rows > MOST &&
      rows > 1.5 * (few.get(name)?.rows ?? 0),
  );
  expect(grown.map(([name, { rows }]) => [name, few.get(name)?.rows, rows])).toEqual([]);
});

test('retention reads no more where callbacks are not delivered', async () => {
  const { pool } = large;
  const kept = new Retention();
  const deletes = async (): Promise<number> => {
    const before = await rowsRead(pool);
    expect(await kept.deleteExpired(pool, 1_000)).toBeGreaterThan(900);
    return (await rowsRead(pool)) - before;
  };
  await pool.query('update handler set retention_ms = 1000');
  await deletes(); // the first looks at everything
  const without = await deletes();
  await pool.query(`
insert into notification (batch_id, attempt, recipient_id, body, next_at)
select b.id, a, r.id, '{}', clock() + interval '1 day'
from recipient r, generate_series(2, 41) a, (select id from batch order by id desc limit 1000) b`);
  // What autovacuum found when there were none: plans for few go through all of them.
  await pool.query(`update pg_class set relpages = 1000, reltuples = 0 where oid = 'notification'::regclass`);
  // One statement goes through them once; that of the batches must not do so, too.
  expect(await deletes()).toBeLessThan(without + 40_000);
});
