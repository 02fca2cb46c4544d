import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { defineHandler } from '../../handlers';
import { registerHandler } from '../../postgres/grouping/handler';
import type { TestDatabase } from '../helpers/database';
import { createDatabase, temporalAddress } from '../helpers/database';
import { eventually } from '../helpers/eventually';
import { rounds } from '../helpers/long';
import { Lateness } from '../helpers/machine/lateness';
import type { NodeChild } from './nodeChild';
import { startNodeProcess } from './nodeChild';

/**
 * How soon the partitions of a killed process are with others, by the database's clock (B16).
 *
 * @alone
 *
 * @slow
 */

const PARTITIONS = 6;
const LEASE_MS = 3_000;
const orders = defineHandler<{ shop: string }>({
  name: 'orders',
  target: ({ shop }) => shop,
  limits: { maxItems: 1 },
  affinity: { partitions: PARTITIONS },
  submit: () => Promise.resolve({ results: [] }),
});
let folder: string;
let database: TestDatabase;
const living: NodeChild[] = [];

beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'muster-killed-'));
  database = await createDatabase();
  await registerHandler(database.pool, orders);
});
afterAll(async () => {
  await Promise.all(living.map((child) => child.kill()));
  await database.drop();
  rmSync(folder, { recursive: true, force: true });
});

const join = (): Promise<NodeChild> =>
  startNodeProcess(
    {
      databaseUrl: database.url,
      address: temporalAddress(),
      prefix: `killed-${database.name}`,
      partitions: PARTITIONS,
      nodes: { leaseMs: LEASE_MS, maxLeaseMs: 30_000, shutdownLimitMs: 1_500, minimumHoldMs: 0 },
    },
    path.join(folder, 'nodes.log'),
  );
const atMs = async (text: string, values: unknown[] = []): Promise<number> =>
  (await database.pool.query<{ ms: number }>(`select extract(epoch from ${text})::float8 * 1000 as ms`, values))
    .rows[0]!.ms;
/** What each of them holds, once they hold all of it, evenly. */
const settled = (): Promise<string[][]> =>
  eventually(async () => {
    const { rows } = await database.pool.query<{ resource: string; holder: string }>(
      `select resource, holder from lease
       where resource like 'partition/%' and expires_at > clock() and revoked_at is null`,
    );
    const each = living.map(({ id }) => rows.filter(({ holder }) => holder === id).map(({ resource }) => resource));
    return each.every((held) => held.length === PARTITIONS / living.length) && each;
  });

test('the last partition of a killed process is with another node a lease and a second after the kill at most [B16]', async () => {
  living.push(...(await Promise.all([join(), join(), join()])));
  for (let round = 0; round < rounds(1, 5); round++) {
    const [lost] = await settled();
    const victim = living.shift()!;
    const lateness = new Lateness(() => database.pool.query('select 1'));
    const killedAtMs = await atMs('clock()');
    await victim.kill();
    await settled();
    await lateness.stop();
    const givenAtMs = await atMs('(select max(acquired_at) from lease where resource = any($1))', [lost]);
    expect(lost).toHaveLength(PARTITIONS / 3);
    // Not before the lease has passed, which was renewed at a third of it.
    expect(givenAtMs - killedAtMs).toBeGreaterThan(LEASE_MS / 2);
    expect(givenAtMs - killedAtMs).toBeLessThanOrEqual(LEASE_MS + 1_000 + lateness.since(0));
    living.push(await join());
  }
});
