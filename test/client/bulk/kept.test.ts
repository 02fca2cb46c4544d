import { randomBytes } from 'node:crypto';
import { Registry } from 'prom-client';
import { createClient } from '../../../client';
import { codecOf } from '../../../examples/codec/aesGcmCodec';
import { Retention } from '../../../postgres/sweeper/retention';
import { StoreMetrics } from '../../../workers/metrics/storeMetrics';
import type { Shop } from '../shop';
import { cut, items, openShop, statesOf } from '../shop';
import { made, makeSteps } from './made';

/** What stays of bulk actions: in their rows, for how long, in which form, and in the metrics. */

let shop: Shop;
beforeEach(async () => {
  shop = await openShop();
  await shop.client.submit('items', items('se', 'a', 'b'));
});
afterEach(() => shop.stop());

test('one that ended 30 days ago is deleted, one that has not is kept', async () => {
  const ended = await made(shop.client, { handler: 'items', action: { do: 'cancel' } });
  const open = await shop.client.bulk.start({ handler: 'items', action: { do: 'cancel' } });
  const clean = () => new Retention().deleteExpired(shop.pool, 1_000);
  const age = (days: number) =>
    shop.pool.query(
      `
update bulk_action set created_at = clock() - $1 * interval '1 day', finished_at = finished_at - $1 * interval '1 day'`,
      [days],
    );
  await age(29);
  await clean();
  expect(await shop.client.bulk.get(ended.id)).not.toBeNull();
  await age(31);
  await clean();
  expect(await shop.client.bulk.get(ended.id)).toBeNull();
  expect(await shop.client.bulk.get(open.id)).not.toBeNull();
});

test('metrics tell how many are open, and for how long one stands', async () => {
  const registry = new Registry();
  const metrics = new StoreMetrics(registry, { pool: shop.pool });
  const { id } = await shop.client.bulk.start({ handler: 'items', action: { do: 'cancel' } });
  await shop.pool.query(`update bulk_action set changed_at = clock() - interval '100 s'`);
  await metrics.refresh();
  const text = await registry.metrics();
  expect(text).toContain('\nmuster_bulk_actions 1\n');
  expect(Number(/^muster_bulk_oldest_step_seconds (\S+)$/m.exec(text)![1])).toBeGreaterThan(99);
  await shop.client.bulk.stop(id);
  const after = new Registry();
  await new StoreMetrics(after, { pool: shop.pool }).refresh();
  expect(await after.metrics()).toContain('\nmuster_bulk_oldest_step_seconds 0\n');
});

test('with a codec neither a text of the filter nor a verdict is in the store in plain', async () => {
  const client = createClient({
    databaseUrl: shop.database.url,
    handlers: [shop.handler],
    prefix: shop.client.prefix,
    temporal: {},
    payloadCodec: codecOf(`k1:${randomBytes(32).toString('base64')}`),
  });
  try {
    const { sealer } = client;
    await cut(shop.pool, ['a'], { state: 3, error: await sealer!.sealText('secret timed out') });
    await cut(shop.pool, ['b'], { state: 3, error: await sealer!.sealText('another') });
    const action = { do: 'resolve', as: 'failed', error: 'secret reason' } as const;
    const { id } = await client.bulk.start({ handler: 'items', where: { error: 'secret' }, action });
    const { rows } = await shop.pool.query<{ all: string }>(
      'select (select json_agg(b)::text from bulk_action b) || (select json_agg(a)::text from audit a) as all',
    );
    expect(rows[0]!.all).not.toContain('secret');
    await makeSteps(client);
    expect(await client.bulk.get(id)).toMatchObject({
      done: 1,
      where: { error: 'secret' },
      action: { error: 'secret reason' },
    });
    expect(await statesOf(client, 'a', 'b')).toEqual(['a failed 1', 'b unknown 1']);
    expect((await client.getTask('a'))!.error).toBe('secret reason');
  } finally {
    await client.close();
  }
});
