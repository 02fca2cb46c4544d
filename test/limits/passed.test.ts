import { createClient, defineHandler } from '../../client';
import { repaceTargets } from '../../postgres/limits/targetLimits';
import { inTransaction } from '../../postgres/pool';
import type { TestDatabase } from '../helpers/database';
import { createDatabase, NO_TEMPORAL } from '../helpers/database';

/** A handler whose rate per target changes may have been sent to a million targets long ago. */

let database: TestDatabase;
beforeAll(async () => void (database = await createDatabase({ max: 5 })));
afterAll(() => database.drop());

test('a change of a rate writes and locks only targets that wait for it', async () => {
  const jobs = defineHandler<{ to: string }>({
    name: 'jobs',
    target: ({ to }) => to,
    limits: { maxItems: 10 },
    submit: () => Promise.reject(new Error('not called')),
  });
  const client = createClient({ databaseUrl: database.url, handlers: [jobs], temporal: NO_TEMPORAL });
  const targets = Array.from({ length: 200 }, (_, i) => `shop-${i}`);
  await client.submit(
    'jobs',
    targets.map((to) => ({ id: to, payload: { to } })),
  );
  await client.close();
  await database.pool.query(`
    update target set paces = array[(extract(epoch from clock()) * 1000)::float8
      + case key when 'shop-7' then 50000 else -1 end]`);
  const { rows: handlers } = await database.pool.query<{ id: number }>(`select id from handler where name = 'jobs'`);
  const written = await inTransaction(database.pool, async (tx) => {
    const updates = async (): Promise<number> => {
      const { rows } = await tx.query<{ n: number }>(`
        select n_tup_upd::int as n from pg_stat_xact_user_tables where relname = 'target' and schemaname = 'muster'`);
      return rows[0]?.n ?? 0;
    };
    const before = await updates();
    await repaceTargets(tx, handlers[0]!.id, [{ factor: 0.1, mostMs: 60_000 }]);
    const n = (await updates()) - before;
    const { rows } = await tx.query<{ locked: number }>(
      `select count(*)::int as locked from target where xmax::text <> '0'`,
    );
    return { n, locked: rows[0]!.locked };
  });
  expect(written.n).toBe(1);
  expect(written.locked).toBeLessThan(2);
  const { rows } = await database.pool.query<{ key: string; inMs: number }>(`
    select key, (paces[1] - extract(epoch from clock()) * 1000)::float8 as "inMs" from target
    where paces[1] > extract(epoch from clock()) * 1000`);
  expect(rows.map(({ key }) => key)).toEqual(['shop-7']);
  expect(rows[0]!.inMs).toBeLessThan(6_000);
});
