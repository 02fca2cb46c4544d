import { defineHandler } from '../../handlers';
import type { Fleet } from './fleet';
import { startFleet } from './fleet';

/** How soon a new node has its share, by the database's clock (B14). @slow */

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

test('a new node has its share within one lease, with the fewest moves, also where that takes many rounds [B14]', async () => {
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

test('what a node has just got stays for the minimum hold, and a round takes back so many at most', async () => {
  const young = await startFleet([orders]);
  const { pool } = young.database;
  // How long what is taken back was held, by round: the row keeps the last only.
  await pool.query(`
create table hold_time (held interval not null, round timestamptz not null);
create function note_held() returns trigger language plpgsql as $$ begin
  insert into muster.hold_time values (new.revoked_at - old.acquired_at, now()); return null; end $$;
create trigger note_held after update on lease for each row
  when (old.revoked_at is null and new.revoked_at is not null and old.resource like 'partition/%')
  execute function note_held()`);
  const settings = { leaseMs: LEASE_MS, shutdownLimitMs: 5_000, minimumHoldMs: 7_000, movesPerRound: 3 };
  const first = await young.join([orders], settings);
  await young.settled([first]);
  const second = await young.join([orders], settings);
  await young.settled([first, second]);
  const { rows } = await pool.query<{ ms: number; asked: number }>(
    `select extract(epoch from min(held))::float8 * 1000 as ms, count(*)::int as asked from hold_time
     group by round`,
  );
  await young.stop();
  expect(rows.reduce((sum, { asked }) => sum + asked, 0)).toBe(20);
  for (const { ms, asked } of rows) {
    expect(ms).toBeGreaterThanOrEqual(7_000);
    expect(asked).toBeLessThanOrEqual(3);
  }
});
