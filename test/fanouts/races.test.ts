import type { Pool } from '../../postgres/pool';
import { createPool } from '../../postgres/pool';
import { expectWhole } from '../helpers/whole';
import type { RaceReport } from './races';
import { isExactlyOnce, LOOK_THEN_REPORT, race } from './races';
import type { FanoutShop } from './shop';
import { openFanoutShop } from './shop';

/** The short form; `npm run test:fanout -- --trials 10000` is the long one. */

const TRIALS = 600;
let shop: FanoutShop;
let pools: [Pool, Pool];
beforeAll(async () => {
  shop = await openFanoutShop();
  const pool = (): Pool => createPool({ databaseUrl: shop.database.url, max: 6 });
  pools = [pool(), pool()];
});
afterAll(async () => {
  for (const pool of pools) await pool.end();
  await shop.stop();
});

const RACES: RaceReport['race'][] = ['two last acks', 'seal against last ack'];

test.each(RACES)('%s: exactly one call and one event report the completion [D3]', async (kind) => {
  const report = await race(kind, pools, TRIALS);
  expect(report).toMatchObject({ reported: { 1: TRIALS }, complete: TRIALS, events: TRIALS });
  expect(isExactlyOnce(report)).toBe(true);
  await expectWhole(shop.client);
});

test.each(RACES)(
  '%s: with open_segments left out (look, then report) completions are lost, and this sees it [D3]',
  async (kind) => {
    await shop.pool.query('create table if not exists planted_seal (fanout uuid)');
    const report = await race(kind, pools, 200, LOOK_THEN_REPORT);
    expect(report.reported[0] ?? 0).toBeGreaterThan(0);
    expect(isExactlyOnce(report)).toBe(false);
  },
);
