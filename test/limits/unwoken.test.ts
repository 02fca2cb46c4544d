import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import pino from 'pino';
import { Requests } from '../../workflows/temporal/requests';
import { Sweeper } from '../../workers/sweeper/sweeper';
import type { Pool } from '../../postgres/pool';
import type { Shop } from '../client/shop';
import { items, openShop } from '../client/shop';
import type { Breaking } from '../executions/breaking';
import { breakingPool } from '../executions/breaking';
import { eventually } from '../helpers/eventually';

/** A limit ends while the store comes and goes, and the sweeper that removed it sweeps no more. */

let shop: Shop;
let pool: Pool;
let breaking: Breaking;
let sweeper: Sweeper;
beforeAll(async () => {
  shop = await openShop();
  ({ pool, breaking } = breakingPool(shop.database.url));
  // What waits under a limit is not found, as in an outage.
  Object.assign(breaking, { name: 'find-targets-with-work', times: Infinity });
  sweeper = new Sweeper({
    pool,
    requests: new Requests(await shop.client.temporal()),
    prefix: shop.client.prefix,
    node: 'sweeper',
    leaseMs: 60_000,
    log: pino({ level: 'silent' }),
    everyMs: 50,
  });
});
afterAll(async () => {
  await sweeper.stop();
  await pool.end();
  await shop.stop();
});

const one = async <T extends object>(text: string): Promise<T> => (await shop.pool.query<T>(text)).rows[0]!;
const dueSoon = (): Promise<{ is: boolean }> =>
  one(`select due_at < clock() + interval '2 min' as is from target where key = 'se'`);

test('what waited under an ended limit is woken by a process that another one sweeps for', async () => {
  await shop.client.submit('items', items('se', randomUUID()));
  const slow = { limit: 1, perMs: 3_600_000, unit: 'calls' as const };
  await shop.client.limits.set('items', { rate: slow }, { forMs: 3_600_000 });
  await shop.pool.query(`update handler set limits_until = clock() - interval '1 ms',
    limits = jsonb_set(limits, '{rate,until}', '"2020-01-01T00:00:00.000Z"')`);
  sweeper.start();
  const isSet = 'select count(limits)::int as n from handler';
  await eventually(async () => (await one<{ n: number }>(isSet)).n === 0, { what: 'the removal of the limit' });
  await shop.pool.query(`update lease set holder = 'other', epoch = epoch + 1, expires_at = clock() + interval '1 hour'
    where resource = 'sweeper'`);
  const isResting = async (): Promise<boolean> => {
    const { rounds } = sweeper.counts;
    await sleep(300); // six rounds
    return sweeper.counts.rounds === rounds;
  };
  await eventually(isResting, { what: 'that it sweeps no more' });
  await shop.pool.query(`update target set due_at = clock() + interval '1 hour'`);
  breaking.name = null;
  await eventually(async () => (await dueSoon()).is, { what: 'the due time of the target' });
  expect(await isResting()).toBe(true);
});
