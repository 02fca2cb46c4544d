import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createStore } from '../../examples/support/database';
import type { NodeSettings } from '../../activities/nodes/settings';
import type { Client } from '../../client';
import { createClient } from '../../client';
import { defineHandler } from '../../handlers';
import { createPool } from '../../postgres/pool';
import type { Pool } from '../../postgres/pool';
import type { EmbeddedPostgres } from '../../workers/embedded';
import { startPostgres } from '../../workers/embedded';
import { temporalAddress } from '../helpers/database';
import { eventually } from '../helpers/eventually';
import { rounds } from '../helpers/long';
import { startNodeProcess } from './nodeChild';
import type { NodeChild } from './nodeChild';
import { isEven } from './fleet';

/**
 * Real processes with a Postgres of their own (B2, B3, B16; nodes.md, busy node, rolling restart):
 * what must not move anything, does not.
 *
 * @full
 */

const PARTITIONS = 5;
const LEASE_MS = 1_500;
const NODES: Partial<NodeSettings> = {
  leaseMs: LEASE_MS,
  maxLeaseMs: 30_000,
  shutdownLimitMs: 700,
  minimumHoldMs: 0,
};
const orders = defineHandler<{ shop: string }>({
  name: 'orders',
  target: ({ shop }) => shop,
  limits: { maxItems: 1 },
  affinity: { partitions: PARTITIONS },
  submit: () => Promise.resolve({ results: [] }),
});

let folder: string;
let postgres: EmbeddedPostgres;
let databaseUrl: string;
let pool: Pool;
let client: Client;
const prefix = `np-${process.pid}-${Date.now()}`;
const living: NodeChild[] = [];

beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'muster-nodes-'));
  postgres = await startPostgres({ dataDir: path.join(folder, 'postgres'), settings: { fsync: 'off' } });
  databaseUrl = await createStore(postgres.url, 'nodes');
  pool = createPool({ databaseUrl, max: 4 });
  client = createClient({ databaseUrl, handlers: [orders], prefix, temporal: { address: temporalAddress() } });
});
afterAll(async () => {
  await Promise.all(living.map((child) => child.kill()));
  await client.close();
  await pool.end();
  await postgres.stop();
  rmSync(folder, { recursive: true, force: true });
});

const join = async (nodes: Partial<NodeSettings> = {}, shiftMs = 0): Promise<NodeChild> => {
  const child = await startNodeProcess(
    { databaseUrl, address: temporalAddress(), prefix, partitions: PARTITIONS, nodes: { ...NODES, ...nodes } },
    path.join(folder, 'nodes.log'),
    shiftMs,
  );
  living.push(child);
  return child;
};
interface Lease {
  resource: string;
  holder: string | null;
  epoch: number;
}
const leases = async (): Promise<Lease[]> =>
  (
    await pool.query<Lease>(
      `select resource, case when expires_at > clock() then holder end as holder, epoch from lease where resource like 'partition/%' order by resource`,
    )
  ).rows;
const settled = (nodes: readonly NodeChild[]): Promise<Lease[]> =>
  eventually(
    async () => {
      const now = await leases();
      return now.length === PARTITIONS &&
        isEven(
          now.map(({ holder }) => holder),
          nodes.map(({ id }) => id),
        )
        ? now
        : null;
    },
    { what: async () => JSON.stringify(await leases()) },
  );
let submitted = 0;
/** A task for each of some shops goes to its end. */
const works = async (): Promise<void> => {
  const ids = Array.from({ length: 12 }, () => `task-${++submitted}`);
  await client.submit(
    'orders',
    ids.map((id, i) => ({ id, payload: { shop: `shop-${i}` } })),
  );
  const ended = await client.waitFor(ids, { timeoutMs: 60_000 });
  expect(new Set(ended.map(({ state }) => state))).toEqual(new Set(['succeeded']));
};

test('a node whose event loop is blocked for longer than its lease, again and again, keeps its partitions: 0 moves [B2]', async () => {
  const [busy, other] = await Promise.all([join(), join()]);
  const before = await settled([busy, other]);
  for (let round = 0; round < rounds(4, 12); round++) {
    await busy.block(1.6 * LEASE_MS);
    expect(await leases()).toEqual(before);
  }
  await works();
  expect(await leases()).toEqual(before);
});

test('a clock that is off by an hour, where leases are renewed too, moves nothing, and loses nothing', async () => {
  const late = await join({}, -3_600_000);
  const before = await settled(living);
  await works();
  await late.block(1_500);
  await works();
  expect(await leases()).toEqual(before);
});

test('Postgres crashes and comes back after more than a lease: nobody loses anything [B3]', async () => {
  const before = await settled(living);
  const { port } = postgres;
  postgres.kill();
  await postgres.exited;
  await postgres.stop();
  await new Promise((resolve) => setTimeout(resolve, 1.5 * LEASE_MS)); // away for so long: the point of the test
  postgres = await startPostgres({ dataDir: path.join(folder, 'postgres'), port, settings: { fsync: 'off' } });
  await eventually(() =>
    leases().then(
      (now) => now.every(({ holder }) => holder !== null),
      () => false,
    ),
  );
  expect(await leases()).toEqual(before);
  await works();
  expect(await leases()).toEqual(before);
});

test('a killed node: its partitions are spread over the others, and only those move [B16]', async () => {
  const before = await settled(living);
  const victim = living.shift()!;
  await victim.kill();
  const after = await settled(living);
  for (const [i, { holder, epoch }] of before.entries())
    if (holder !== victim.id) expect(after[i]).toMatchObject({ holder, epoch });
    else expect(after[i]!.epoch).toBeGreaterThan(epoch);
  await works();
});

test('rolling restart: nodes with names that stop cleanly and come back within the grace move nothing to others', async () => {
  await Promise.all(living.splice(0).map((child) => child.stop()));
  const named = await Promise.all(['blue-1', 'blue-2', 'blue-3'].map((name) => join({ name })));
  const before = await settled(named);
  const nameOf = new Map(named.map(({ id }, i) => [id, `blue-${i + 1}`]));
  const placeOf = (now: readonly Lease[]) => now.map(({ holder }) => nameOf.get(holder!));
  for (const [i, name] of ['blue-1', 'blue-2', 'blue-3'].entries()) {
    await named[i]!.stop();
    named[i] = await join({ name });
    nameOf.set(named[i].id, name);
    const now = await settled(named);
    expect(placeOf(now)).toEqual(placeOf(before));
  }
  await works();
});
