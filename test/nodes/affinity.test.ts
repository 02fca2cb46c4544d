import { defineHandler } from '../../handlers';
import type { Batch } from '../../handlers';
import type { Fleet, FleetNode } from './fleet';
import { startFleet } from './fleet';

/**
 * Handlers with affinity: each target's calls are made by the one node that holds its partition
 * (B1, B14).
 */

interface Order {
  shop: string;
}
const seen: { node: string; batch: Batch<Order> }[] = [];
/** The same handler on each node, which says whose it is. */
const ordersOf = (node: () => string) =>
  defineHandler<Order>({
    name: 'orders',
    target: ({ shop }) => shop,
    limits: { maxItems: 5 },
    linger: { lingerMs: 100 },
    affinity: { partitions: 8 },
    submit: (batch) => {
      seen.push({ node: node(), batch });
      return Promise.resolve({ results: batch.tasks.map(({ id }) => ({ id, status: 'ok' as const })) });
    },
  });

let fleet: Fleet;
const nodes: FleetNode[] = [];
const join = async (): Promise<FleetNode> => {
  const place = nodes.length;
  const one = await fleet.join([ordersOf(() => nodes[place]!.id)]);
  nodes.push(one);
  return one;
};
beforeAll(async () => {
  fleet = await startFleet([ordersOf(() => 'client')]);
});
afterAll(() => fleet.stop());

test('one node gets all partitions, a second one half of them; every call is made by the holder, under its epoch', async () => {
  await join();
  await fleet.settled(nodes);
  await join();
  const holders = await fleet.settled(nodes);
  const shops = Array.from({ length: 24 }, (_, i) => `shop-${i}`);
  await fleet.client.submit(
    'orders',
    shops.flatMap((shop, i) => [0, 1, 2].map((n) => ({ id: `t-${i}-${n}`, payload: { shop } }))),
  );
  const ids = shops.flatMap((_, i) => [0, 1, 2].map((n) => `t-${i}-${n}`));
  const ended = await fleet.client.waitFor(ids, { timeoutMs: 60_000 });
  expect(new Set(ended.map(({ state }) => state))).toEqual(new Set(['succeeded']));
  expect(seen.length).toBeGreaterThanOrEqual(24);
  for (const { node, batch } of seen) expect(holders[`partition/${batch.partition!.id}`]).toBe(node);
  expect(new Set(seen.map(({ node }) => node)).size).toBe(2);
  const { rows } = await fleet.database.pool.query<{ resource: string; epoch: number }>(
    `select resource, epoch from lease where resource like 'partition/%'`,
  );
  const epochs = new Map(rows.map(({ resource, epoch }) => [resource, epoch]));
  for (const { batch } of seen) expect(batch.partition!.epoch).toBe(epochs.get(`partition/${batch.partition!.id}`));
});
