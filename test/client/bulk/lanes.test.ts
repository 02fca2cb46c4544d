import type { Shop } from '../shop';
import { broken, items, openShop, statesOf } from '../shop';
import { made } from './made';

/** Bulk actions on the tasks of lanes, whose order depends on them. */

let shop: Shop;
beforeEach(async () => {
  shop = await openShop({ service: (target) => target, lane: { approach: 'serial' } });
});
afterEach(async () => {
  const found = await broken(shop.client);
  await shop.stop();
  expect(found).toEqual({});
});

test('what is in no batch is cancelled; what is in one is not waiting', async () => {
  await shop.client.submit('items', items('se', 'a', 'b'));
  await shop.client.submitBatch('items', 'no', items('no', 'c', 'd'));
  expect(await made(shop.client, { handler: 'items', action: { do: 'cancel' } })).toMatchObject({
    state: 'done',
    total: 2,
    done: 2,
  });
  expect(await statesOf(shop.client, 'a', 'b', 'c')).toEqual(['a cancelled 0', 'b cancelled 0', 'c batched 0']);
});

test('neither their order nor a batch that waits for a retry is changed, and the reason is counted', async () => {
  await shop.client.submit('items', items('se', 'a'));
  await shop.client.submitBatch('items', 'no', items('no', 'c', 'd'));
  const update = await made(shop.client, { handler: 'items', action: { do: 'update', weight: 2 } });
  const reason = 'in a lane, whose order depends on it';
  expect(update).toMatchObject({ total: 1, done: 0, skipped: 0, failed: 1, failures: { [reason]: 1 } });
  const expiresAt = '2099-01-01T00:00:00Z';
  const expires = await made(shop.client, { handler: 'items', action: { do: 'update', expiresAt } });
  expect(expires).toMatchObject({ total: 1, done: 0, failures: { [reason]: 1 } });
  const action = { do: 'update', payloadPatch: { note: 'n' } } as const;
  expect((await shop.client.bulk.dryRun({ handler: 'items', action })).refused).toEqual([{ id: 'a', reason }]);
  const patch = await made(shop.client, { handler: 'items', action }, shop.handler);
  expect(patch).toMatchObject({ total: 1, done: 0, failures: { [reason]: 1 } });
  await shop.pool.query(`update lane_batch set status = 1 where status = 0`); // it waits for a retry
  const cancel = await made(shop.client, { handler: 'items', action: { do: 'cancel' } });
  expect(cancel).toMatchObject({ total: 3, done: 1, failed: 2 });
  expect(cancel.failures).toEqual({ 'in a batch of a lane, which is cancelled as a whole': 2 });
  await shop.pool.query(`update lane_batch set status = 0`);
});
