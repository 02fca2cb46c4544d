import { defineHandler } from '../../handlers';
import { leaderIndex } from '../../workflows/planning/grouping/hash';
import { eventually } from '../helpers/eventually';
import type { Fleet } from './fleet';
import { startFleet } from './fleet';

/** Load in place of the count, as the product measures it (B17). */

interface Order {
  shop: string;
}
const PARTITIONS = 4;
const BATCHES = 20;
const orders = defineHandler<Order>({
  name: 'orders',
  target: ({ shop }) => shop,
  limits: { maxItems: 1 },
  linger: { lingerMs: 10 },
  affinity: { partitions: PARTITIONS },
  submit: (batch) => Promise.resolve({ results: batch.tasks.map(({ id }) => ({ id, status: 'ok' as const })) }),
});

let fleet: Fleet;
beforeAll(async () => {
  fleet = await startFleet([orders]);
});
afterAll(() => fleet.stop());

/** A target of that partition. */
const shopOf = (no: number): string => {
  for (let i = 0; ; i++) if (leaderIndex(`shop-${i}`, PARTITIONS) === no) return `shop-${i}`;
};

test('two partitions on one node, each with 20 batches, are shown with them and end on different nodes [B17]', async () => {
  const settings = { by: 'load', leaseMs: 5_000, shutdownLimitMs: 2_500 } as const;
  const nodes = [await fleet.join([orders], settings), await fleet.join([orders], settings)];
  // Without any load each node has some; one of them has two at least.
  const before = await eventually(async () => {
    const now = await fleet.client.partitions();
    const held = new Set(now.map(({ state, holder }) => (state === 'held' ? holder : null)));
    return held.size === nodes.length && !held.has(null) ? now : null;
  });
  expect(before.map(({ load }) => load)).toEqual([0, 0, 0, 0]);
  const of = (id: string): number[] => before.filter(({ holder }) => holder === id).map(({ no }) => no);
  const [full, other] = nodes.map(({ id }) => id).sort((a, b) => of(b).length - of(a).length);
  const busy = of(full!).slice(0, 2);
  const tasks = busy.flatMap((no) =>
    Array.from({ length: BATCHES }, (_, i) => ({ id: `task-${no}-${i}`, payload: { shop: shopOf(no) } })),
  );
  await fleet.client.submit('orders', tasks);
  await fleet.client.waitFor(
    tasks.map(({ id }) => id),
    { timeoutMs: 60_000 },
  );
  const loaded = await fleet.client.partitions();
  expect(loaded.map(({ no, load }) => ({ no, load }))).toEqual(
    [0, 1, 2, 3].map((no) => ({ no, load: busy.includes(no) ? BATCHES : 0 })),
  );
  // It looks once a minute by itself; taking away a pin that is not there wakes it now.
  await fleet.client.movePartition('orders/0', null);
  const after = await eventually(async () => {
    const now = await fleet.client.partitions();
    const holders = busy.map((no) => now[no]!.holder);
    return holders.every((holder) => holder !== null) && holders[0] !== holders[1] ? now : null;
  });
  const moved = after.filter(({ no, epoch }) => epoch > before[no]!.epoch);
  expect(moved).toMatchObject([{ holder: other, lastMove: { why: expect.stringMatching(/a load of 20/) } }]);
});
