import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker';
import pino from 'pino';
import { Allowance } from '../../../activities/calls/allowance';
import { defineHandler } from '../../../handlers';
import { Schedule } from '../../../activities/calls/schedule';
import { createClient } from '../../../client';
import { keepLeader } from '../../../postgres/grouping/leader';
import { createNode } from '../../../workers/node';
import { createDatabase, temporalAddress } from '../../helpers/database';
import { eventually } from '../../helpers/eventually';
import { prebuiltBundle } from '../../helpers/prebuilt';
import type { Bench, Run } from '../bench';
import { openBench } from '../bench';

Runtime.install({ logger: new DefaultLogger('ERROR') });

/**
 * H5: the limit of calls in flight is kept whatever becomes of leaders and their leases; and slots
 * of the dead come back.
 *
 * @slow
 */

test.each([
  { perHandler: 1, leaders: 4 },
  { perHandler: 4, leaders: 16 },
])(
  '$leaders leaders that start together, their wakes long ago: never more than $perHandler calls [H5]',
  async ({ perHandler, leaders }) => {
    let inFlight = 0;
    let most = 0;
    // The first calls last until there are as many as may be, however slow the machine is.
    let full = (): void => undefined;
    const filled = new Promise<void>((resolve) => (full = resolve));
    const orders = defineHandler<{ to: string }>({
      name: 'orders',
      target: ({ to }) => to,
      limits: { maxItems: 1 },
      linger: { lingerMs: 0 },
      leaders,
      concurrency: { perTarget: 4, perHandler },
      submit: async (batch) => {
        most = Math.max(most, ++inFlight);
        if (most >= perHandler) full();
        await Promise.race([filled, sleep(15_000)]);
        await sleep(150);
        inFlight--;
        return { results: batch.tasks.map(({ id }) => ({ id, status: 'ok' as const })) };
      },
    });
    const database = await createDatabase({ max: 30 });
    const prefix = `t-${randomBytes(5).toString('hex')}`;
    const client = createClient({
      databaseUrl: database.url,
      handlers: [orders],
      prefix,
      temporal: { address: temporalAddress() },
    });
    // The sweeper of a killed worker still holds its lease, and the wakes were so long ago that
    // every leader's has passed.
    await database.pool.query(
      `insert into lease (resource, holder, acquired_at, expires_at) values ('sweeper', 'killed', clock(), clock() + interval '1 h')`,
    );
    await client.submit(
      'orders',
      Array.from({ length: 48 }, (_, i) => ({ id: `o-${i}`, payload: { to: `t${i % 48}` } })),
    );
    await eventually(
      async () => (await database.pool.query('select from leader where state = 1')).rowCount! > leaders / 2,
    );
    await database.pool.query(`update leader set expires_at = clock() - interval '1 s' where state = 1`);
    const connection = await NativeConnection.connect({ address: temporalAddress() });
    const node = await createNode({
      pool: database.pool,
      connection,
      namespace: 'default',
      prefix,
      handlers: [orders],
      log: pino({ level: process.env['MUSTER_TEST_LOG'] ?? 'silent' }),
      callbacks: { allow: [], secret: null },
      workflowBundle: prebuiltBundle,
      shutdownGraceMs: 5_000,
    });
    const running = node.run();
    try {
      await eventually(async () => (await client.status('orders'))[0]!.counts.succeeded === 48, {
        what: async () => `48 tasks; ${JSON.stringify((await client.status('orders'))[0]!.counts)}`,
      });
      expect(most).toBe(perHandler);
    } finally {
      node.shutdown();
      await running;
      await client.close();
      await connection.close();
      await database.drop();
    }
  },
);

describe('slots of the dead', () => {
  const orders = defineHandler<{ to: string }>({
    name: 'orders',
    target: ({ to }) => to,
    limits: { maxItems: 1 },
    linger: { lingerMs: 0 },
    leaders: 2,
    concurrency: { perTarget: 1, perHandler: 1 },
    submit: () => Promise.resolve({ results: [] }),
  });
  let bench: Bench;
  beforeEach(async () => {
    bench = await openBench([orders]);
    await bench.client.submit(
      'orders',
      Array.from({ length: 8 }, (_, i) => ({ id: `o-${i}`, payload: { to: `t${i}` } })),
    );
  });
  afterEach(() => bench.stop());
  const first: Run = { runId: 'first', runStartedAtMs: 1_000 };
  const second: Run = { runId: 'second', runStartedAtMs: 1_000 };
  const ofFirst = (seconds: number): Promise<unknown> =>
    bench.database.pool.query(`update dispatch set seen_at = clock() - $1 * interval '1 s' where leader_id = 1`, [
      seconds,
    ]);
  const leaseOfFirst = (seconds: number): Promise<unknown> =>
    bench.database.pool.query(`update leader set expires_at = clock() + $1 * interval '1 s' where id = 1`, [seconds]);

  test('a dispatch holds its slots while it gives signs of life, its leader late or not; 15 s after the last one they are free [H5]', async () => {
    expect((await bench.turn(first, 1)).dispatch).toMatchObject({ slots: 1 });
    await leaseOfFirst(-60);
    await ofFirst(14);
    const waits = await bench.turn(second, 1, { leaderId: 2 });
    expect(waits).toMatchObject({ dispatch: null, next: 'waiting' });
    // Nobody need tell it: it looks again by itself.
    expect(waits.dueInMs).toBeLessThanOrEqual(10_000);
    await leaseOfFirst(60);
    await ofFirst(16);
    expect((await bench.turn(second, 2, { leaderId: 2 })).dispatch).toMatchObject({ slots: 1 });
  });

  test('a dispatch at work keeps the lease of its leader while that works; not a wake, nor for an earlier leader', async () => {
    const { epoch } = await bench.turn(first, 1);
    const { pool } = bench.database;
    const leftOf = async (state: number, seconds: number, of: number, woken = false): Promise<number> => {
      await pool.query(
        `update leader set state = $1::smallint, wake_at = case when $1::smallint = 2 then clock() end,
           expires_at = clock() + $2 * interval '1 s', woken_at = case when $3 then clock() end where id = 1`,
        [state, seconds, woken],
      );
      await keepLeader(pool, 1, of, 15_000);
      const { rows } = await pool.query<{ left: number }>(
        'select extract(epoch from expires_at - clock())::float8 as left from leader where id = 1',
      );
      return Math.round(rows[0]!.left);
    };
    expect(await leftOf(1, 8, epoch)).toBe(15);
    expect(await leftOf(1, 14, epoch)).toBe(14);
    expect(await leftOf(1, -5, epoch)).toBe(15);
    expect(await leftOf(1, 2.9, epoch, true)).toBe(3); // woken: a lost wake is to be repeated
    expect(await leftOf(1, -5, epoch, true)).toBe(-5);
    expect(await leftOf(2, 8, epoch)).toBe(8);
    expect(await leftOf(1, 8, epoch - 1)).toBe(8);
  });

  test('a dispatch whose activity waited for its worker for longer begins with what is free [H5]', async () => {
    const claimed = await bench.turn(first, 1);
    const deps = await bench.dispatch(claimed, orders);
    const begins = (): Promise<boolean> => new Allowance(deps, new Schedule(claimed.dispatch!.slots)).begin();
    expect(await begins()).toBe(true);
    await ofFirst(16);
    const other = await bench.turn(second, 1, { leaderId: 2 });
    expect(other.dispatch).toMatchObject({ slots: 1 });
    expect(await begins()).toBe(false);
    await bench.database.pool.query('delete from dispatch where leader_id = 2');
    expect(await begins()).toBe(true);
    expect((await bench.turn(second, 2, { leaderId: 2, live: [other.dispatch!.no] })).dispatch).toBeNull();
  });
});
