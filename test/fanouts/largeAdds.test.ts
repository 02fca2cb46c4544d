import type { ActivityDeps } from '../../activities/deps';
import { createFanoutActivities } from '../../activities/fanouts/workflowFanouts';
import type { FanoutShop } from './shop';
import { openFanoutShop } from './shop';

/** Adds of one statement up to the documented million. */

let shop: FanoutShop;
beforeAll(async () => {
  shop = await openFanoutShop();
});
afterAll(() => shop.stop());

test.each([
  [512, 32_256],
  [512, 32_257],
  [8_000, 24_769],
  [8_000, 1_000_000],
  [1, 40_000],
])('segments of %i: %i items in one call', async (segmentSize, items) => {
  const { client } = shop;
  const { id } = await client.openFanout({ segmentSize });
  const added = await client.addItems(id, items, { itemsPerCall: 1_000_000, key: 'once' });
  expect(added.items).toBe(items);
  expect(await client.getFanout(id)).toMatchObject({ items, open: items, segments: Math.ceil(items / segmentSize) });
  expect((await client.addItems(id, items, { itemsPerCall: 1_000_000, key: 'once' })).items).toBe(items);
  let last = '';
  for (const item of added) last = item;
  expect(last).toBe(`${id}:${Math.ceil(items / segmentSize) - 1}:${(items - 1) % segmentSize}`);
  expect(await client.ackItems(last)).toMatchObject({ acked: 1 });
});

test('an add of a workflow takes several statements, each with its key, and repeats add nothing', async () => {
  const { client, pool } = shop;
  const { id } = await client.openFanout({ segmentSize: 8_000 });
  const { addFanoutItems } = createFanoutActivities({ pool } as ActivityDeps);
  const added = await addFanoutItems({ id, items: 250_000, key: 'once' });
  expect(added.reduce((sum, { items }) => sum + items, 0)).toBe(250_000);
  expect(await addFanoutItems({ id, items: 250_000, key: 'once' })).toEqual(added);
  expect(await client.getFanout(id)).toMatchObject({ items: 250_000, open: 250_000 });
});
