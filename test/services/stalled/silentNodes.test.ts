import pino from 'pino';
import { balancePartitions } from '../../../activities/nodes/balance';
import type { BalanceDeps } from '../../../activities/nodes/balance';
import { defineHandler } from '../../../handlers';
import { Keeper } from '../../../activities/nodes/heartbeat/keeper';
import type { FromThread } from '../../../activities/nodes/heartbeat/messages';
import { DEFAULT_NODE_SETTINGS } from '../../../activities/nodes/settings';
import { registerHandler } from '../../../postgres/grouping/handler';
import { touchNode } from '../../../postgres/nodes/node';
import type { TestDatabase } from '../../helpers/database';
import { createDatabase } from '../../helpers/database';
import { eventually } from '../../helpers/eventually';

/**
 * Nodes that fell silent, and those that are back (B14, B16): found by `npm run example:fleet`.
 *
 * @slow
 */

const LEASE_MS = 3_000;
const nodes = { ...DEFAULT_NODE_SETTINGS, leaseMs: LEASE_MS, shutdownLimitMs: 1_500, minimumHoldMs: 0 };
const row = (id: string) => ({ id, taskQueue: 'q', handlers: ['orders'], version: '1', draining: false });

let database: TestDatabase;
beforeAll(async () => {
  database = await createDatabase();
  await registerHandler(
    database.pool,
    defineHandler<{ shop: string }>({
      name: 'orders',
      target: ({ shop }) => shop,
      limits: { maxItems: 5 },
      affinity: { partitions: 2 },
      submit: () => Promise.reject(new Error('nobody calls')),
    }),
  );
});
afterAll(() => database.drop());

test('one that was silent for a lease and is back says so, alive in the store first [B14]', async () => {
  const told: FromThread[] = [];
  const keeper = new Keeper(database.pool, (message) => told.push(message));
  const of = (kind: FromThread['kind']) => told.filter((one) => one.kind === kind).length;
  // Not able to have anything: what it still writes at the end of this test is nothing to the next.
  const own = { ...row('back'), handlers: [] };
  await touchNode(database.pool, own); // as the main thread does at the start
  keeper.setBeat({ row: own, everyMs: 100, silenceMs: 60_000 });
  keeper.setPartitions({ leaseMs: LEASE_MS, maxLeaseMs: 60_000 });
  const looked = (times: number) =>
    eventually(async () => {
      keeper.look(0);
      return of('partitions') >= times || null;
    });
  await looked(2);
  expect(of('back')).toBe(0);
  // Stopped: nothing of this process runs for more than a lease.
  const until = performance.now() + LEASE_MS + 100;
  while (performance.now() < until) Math.sqrt(until);
  await database.pool.query(`update node set seen_at = clock() - interval '1 hour' where id = 'back'`);
  await looked(3);
  await eventually(async () => of('back') >= 1 || null);
  const { rows } = await database.pool.query(
    `select clock() - seen_at < interval '2 s' as alive from node where id = 'back'`,
  );
  expect(rows).toEqual([{ alive: true }]);
  // A sign that was on its way when everything stopped took a lease, and so says it, too.
  await looked(of('partitions') + 1);
  const said = of('back');
  expect(said).toBeLessThanOrEqual(2);
  await looked(of('partitions') + 2);
  expect(of('back')).toBe(said);
});

test.each([
  ['whose first sign from here comes a lease after the main thread’s', `seen_at = clock() - interval '1001 ms'`],
  ['whose row was taken for stale and removed', null],
])('one %s says that it is there: it may have been taken for dead [B14]', async (_, write) => {
  const { pool } = database;
  const told: FromThread[] = [];
  const keeper = new Keeper(pool, (message) => told.push(message));
  const own = { ...row('late'), handlers: [] };
  await touchNode(pool, own);
  await pool.query(
    write === null ? `delete from node where id = 'late'` : `update node set ${write} where id = 'late'`,
  );
  keeper.setBeat({ row: own, everyMs: 100, silenceMs: 60_000 });
  keeper.setPartitions({ leaseMs: 1_000, maxLeaseMs: 60_000 });
  await eventually(() => {
    keeper.look(0);
    return told.some(({ kind }) => kind === 'back');
  });
  const { rowCount } = await pool.query(`select from node where id = 'late' and seen_at > clock() - interval '1 s'`);
  expect(rowCount).toBe(1);
});

test.each([
  ['well before the lease passed: dead, though not for a lease yet', 0.8, 'other'],
  ['just now: it goes back to it', 0.1, 'holder'],
])('a lease passed, and the last sign of life of its holder is from %s [B16]', async (_, seen, expected) => {
  const { pool } = database;
  await pool.query('delete from node');
  for (const id of ['holder', 'other']) await touchNode(pool, row(id));
  await pool.query(`update lease set holder = id, epoch = 1, acquired_at = clock() - interval '1 min', revoked_at = null,
    expires_at = clock() + (case id when 'holder' then -10 else 60000 end) * interval '1 ms'
    from (values ('partition/orders/0', 'holder'), ('partition/orders/1', 'other')) v (resource, id) where lease.resource = v.resource`);
  await pool.query(`update node set seen_at = clock() - $1 * interval '1 ms' where id = 'holder'`, [seen * LEASE_MS]);
  // For one lease after the server's start nothing counts as passed.
  await eventually(
    async () =>
      (
        await pool.query<{ up: boolean }>(`select clock() > pg_postmaster_start_time() + $1 * interval '1 ms' as up`, [
          LEASE_MS,
        ])
      ).rows[0]!.up || null,
  );
  const deps = { pool, prefix: 'nobody', nodes, log: pino({ level: 'silent' }) } as unknown as BalanceDeps; // tells nobody: there is no Temporal here
  await balancePartitions(deps, { runId: 'round', turn: 1 });
  const { rows } = await pool.query(`select holder, epoch from lease where resource = 'partition/orders/0'`);
  expect(rows).toEqual([{ holder: expected, epoch: 2 }]);
});
