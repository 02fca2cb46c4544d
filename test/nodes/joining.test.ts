import { defineHandler } from '../../handlers';
import type { Fleet } from './fleet';
import { startFleet } from './fleet';

/** How soon a new node has its share, by the database's clock (B14). */

const LEASE_MS = 10_000;
const orders = defineHandler<{ shop: string }>({
  name: 'orders',
  target: ({ shop }) => shop,
  limits: { maxItems: 1 },
  affinity: { partitions: 40 },
  submit: () => Promise.resolve({ results: [] }),
});
let fleet: Fleet;
beforeAll(async () => {
  fleet = await startFleet([orders]);
});
afterAll(() => fleet.stop());

test('B14: a new node has its share within one lease, with the fewest moves, also where that takes many rounds', async () => {
  // Four a round: five rounds, and at a third of a lease each the holder would hear of the last one
  // much too late.
  const settings = { leaseMs: LEASE_MS, shutdownLimitMs: 5_000, minimumHoldMs: 0, movesPerRound: 4 };
  const first = await fleet.join([orders], settings);
  await fleet.settled([first]);
  const joined = await fleet.join([orders], settings);
  await fleet.settled([first, joined]);
  const { rows } = await fleet.database.pool.query<{ ms: number; moves: number }>(
    `select extract(epoch from max(l.acquired_at) - max(n.started_at))::float8 * 1000 as ms, sum(l.epoch - 1)::int as moves
     from lease l join node n on n.id = l.holder where l.resource like 'partition/%' and n.id = $1`,
    [joined.id],
  );
  expect(rows[0]!.moves).toBe(20);
  expect(rows[0]!.ms).toBeLessThan(LEASE_MS);
});
