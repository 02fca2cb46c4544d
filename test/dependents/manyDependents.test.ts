import { setTimeout as sleep } from 'node:timers/promises';
import type { QueryConfig } from 'pg';
import pino from 'pino';
import { releaseDependents, workOffEnded } from '../../activities/grouping/dependents';
import type { Released, ReleaseDeps } from '../../activities/grouping/dependents';
import type { Client, Pool } from '../../postgres/pool';
import { createPool } from '../../postgres/pool';
import { Requests } from '../../workflows/temporal/requests';
import { Sweeper } from '../../workers/sweeper/sweeper';
import type { Shop } from '../client/shop';
import { broken, openShop } from '../client/shop';
import { eventually } from '../helpers/eventually';
import { succeed, task } from './world';

/**
 * Of one task that has ended so many depend that their release takes many steps.
 *
 * @slow
 */

const DEPENDENTS = 4_000;
const STEP_MS = 600;
let shop: Shop;
let pool: Pool;
/** Names of the statements, in their order. */
let names: string[];
let deps: ReleaseDeps & { log: pino.Logger };
beforeEach(async () => {
  shop = await openShop({ maxQueued: { perTarget: 10_000 } });
  ({ pool, names } = slowPool(shop.database.url));
  const requests = new Requests(await shop.client.temporal());
  deps = { pool, requests, prefix: shop.client['connection'].prefix, log: pino({ level: 'silent' }) };
  await shop.client.submit('items', task('root'));
  for (let i = 0; i < DEPENDENTS; i += 1_000)
    await shop.client.submit(
      'items',
      Array.from({ length: 1_000 }, (_, n) => task(`t${i + n}`, ['root'])),
    );
  await succeed(shop, 'root');
});
afterEach(async () => {
  await pool.end();
  const found = await broken(shop.client);
  await shop.stop();
  expect(found).toEqual({});
});

/** A pool each of whose transactions begins late, and which notes the names of its statements. */
const slowPool = (databaseUrl: string): { pool: Pool; names: string[] } => {
  const noted: string[] = [];
  const slow = createPool({ databaseUrl, max: 10 });
  const connect = slow.connect.bind(slow) as (...args: unknown[]) => Promise<Client>;
  const wrapped = new WeakSet<object>();
  const noting = <T extends { query: unknown }>(of: T): void => {
    const query = (of.query as (...args: unknown[]) => unknown).bind(of);
    of.query = (...args: unknown[]) => {
      noted.push((args[0] as QueryConfig).name ?? '');
      return query(...args);
    };
  };
  noting(slow);
  // `pool.query` takes its session by a callback.
  slow.connect = (async (...args: unknown[]) => {
    if (args.length > 0) return connect(...args);
    await sleep(STEP_MS);
    const session = await connect();
    if (!wrapped.has(session)) noting(session);
    wrapped.add(session);
    return session;
  }) as typeof slow.connect;
  return { pool: slow, names: noted };
};
const held = async (): Promise<number> => (await shop.pool.query('select from held')).rowCount!;

test('what was released is rung while others are still to be released', async () => {
  await releaseDependents(deps);
  expect(await held()).toBe(0);
  expect(names.filter((name) => name === 'release-held').length).toBeGreaterThanOrEqual(4);
  expect(names).toContain('lower-due');
  expect(names.indexOf('lower-due')).toBeLessThan(names.lastIndexOf('release-held'));
});

test('a round of the sweeper goes on before all are released, and the next ones release the others', async () => {
  const sweeper = new Sweeper({ ...deps, node: 'sweeping', leaseMs: 5_000, everyMs: 100 });
  sweeper.start();
  await eventually(() => names.includes('sweep-recent'));
  const left = await held();
  expect(left).toBeGreaterThan(0);
  expect(left).toBeLessThan(DEPENDENTS);
  await eventually(async () => (await held()) === 0);
  await sweeper.stop();
});

test('what was released before a step failed is told of', async () => {
  let steps = 0;
  const connect = async (): Promise<Client> => {
    if (++steps > 1) throw new Error('the second step fails');
    return shop.pool.connect();
  };
  const failing = Object.assign(Object.create(shop.pool) as Pool, { connect });
  const told: Released[] = [];
  const tell = (released: Released): Promise<void> => Promise.resolve(void told.push(released));
  await expect(workOffEnded(failing, tell)).rejects.toThrow('the second step fails');
  expect(told.map(({ targetIds }) => targetIds.length)).toEqual([1]);
  expect(await held()).toBe(DEPENDENTS - 1_000);
});
