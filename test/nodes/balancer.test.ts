import { defineHandler } from '../../handlers';
import { registerHandler } from '../../postgres/grouping/handler';
import { drainNode, touchNode, undrainNode } from '../../postgres/nodes/node';
import { pinPartition } from '../../postgres/nodes/partition';
import { readHeldPartitions, releasePartitions, renewPartitions } from '../../postgres/nodes/partitionLease';
import type { Pool } from '../../postgres/pool';
import { createPool } from '../../postgres/pool';
import type { BalancerStatus } from '../../workflows/definitions';
import { balancerWorkflowId } from '../../workflows/naming';
import { wakeBalancer } from '../../workflows/wake';
import { FlowingClock } from '../helpers/clock';
import { eventually } from '../helpers/eventually';
import type { Skipping } from '../helpers/skippingMuster';
import { startSkipping } from '../helpers/timeSkipping';
import { Requests } from '../../workflows/temporal/requests';

/**
 * The balancer's waits on a skipping server (B10, B11, B13, B16): revoke, slow release,
 * the shutdown limit, the minimum hold, a lease that passes. Nodes are rows here: what a process
 * would do of its own, the test does.
 *
 * @slow
 */

const options = {
  target: ({ to }: { to: string }) => to,
  limits: { maxItems: 1 },
  submit: () => Promise.resolve({ results: [] }),
};
const plain = defineHandler({ ...options, name: 'plain' });
let muster: Skipping;
let pool: Pool;
let handlers = 0;
let placed = '';

beforeAll(async () => {
  muster = await startSkipping([plain], {
    clock: 'flowing',
    // Long, although nothing waits for real: a busy machine takes far less between two steps.
    nodes: { leaseMs: 60_000, shutdownLimitMs: 40_000, minimumHoldMs: 0 },
  });
  pool = new FlowingClock(muster.env).attach(createPool({ databaseUrl: muster.database.url, max: 5 }));
  await muster.env.sleep('2 minutes'); // a lease and more since the server started: until then nothing counts as expired
});
afterAll(async () => {
  await pool.end();
  await muster.stop();
});
/** A separate handler with so many partitions, and no nodes. */
const start = async (partitions: number): Promise<void> => {
  await pool.query('delete from node where id <> $1', [muster.node.id]);
  await pool.query('delete from partition');
  placed = `placed-${++handlers}`;
  await registerHandler(pool, defineHandler({ ...options, name: placed, affinity: { partitions } }));
};

/** There, and giving signs of life for as long as the test takes. */
const join = async (id: string, name: string | null = null): Promise<void> => {
  await touchNode(pool, { id, name, taskQueue: 'none', handlers: [placed], version: '1', draining: false });
  await pool.query(`update node set seen_at = clock() + interval '1 day' where id = $1`, [id]);
};
const die = (id: string): Promise<unknown> =>
  pool.query(`update node set seen_at = clock() - interval '1 hour' where id = $1`, [id]);
const wake = async (): Promise<void> =>
  expect(await wakeBalancer(new Requests(muster.env.client), muster.prefix)).toBeNull();

interface Lease {
  no: number;
  holder: string | null;
  epoch: number;
  wanted: string | null;
}
const leases = async (): Promise<Lease[]> =>
  (
    await pool.query<Lease>(
      `select p.no, l.holder, l.epoch, case when l.revoked_at is not null then l.wanted_by end as wanted from partition p join lease l using (resource) order by p.no`,
    )
  ).rows;
const countOf = async (id: string): Promise<number> => (await leases()).filter(({ holder }) => holder === id).length;
const held = (id: string): Promise<{ id: string; epoch: number }[]> => readHeldPartitions(pool, id);
const asked = async (): Promise<number> => (await leases()).filter(({ wanted }) => wanted !== null).length;
const revoked = async (id: string): Promise<{ id: string; epoch: number }[]> =>
  (await readHeldPartitions(pool, id)).filter((one) => one.revoked);
const balanced = (counts: Record<string, number>): Promise<true> =>
  eventually(
    async () => {
      for (const [id, n] of Object.entries(counts)) if ((await countOf(id)) !== n) return false;
      return true;
    },
    { what: async () => JSON.stringify(await leases()) },
  );
const status = (): Promise<BalancerStatus> =>
  muster.env.client.workflow.getHandle(balancerWorkflowId(muster.prefix)).query<BalancerStatus, []>('balancerStatus');
/** It waits, or has ended: what it wrote so far is all that it will write at this time. */
const isEnded = async (): Promise<boolean> =>
  (await muster.env.client.workflow.getHandle(balancerWorkflowId(muster.prefix)).describe()).status.name ===
  'COMPLETED';
const ended = (): Promise<true> => eventually(async () => (await isEnded()) || null).then(() => true);
/** Leases of those that live are renewed as their processes would. */
const renew = async (id: string): Promise<void> => renewPartitions(pool, id, await held(id), 60_000);

test('partitions that nobody holds go to the nodes at once, evenly; then it ends, and costs nothing [B1 B15]', async () => {
  await start(5);
  await join('a');
  await join('b');
  await wake();
  await ended();
  expect([await countOf('a'), await countOf('b')].sort()).toEqual([2, 3]);
  const epochs = (await leases()).map(({ epoch }) => epoch);
  expect(epochs).toEqual([1, 1, 1, 1, 1]);
  await wake();
  await ended();
  expect((await leases()).map(({ epoch }) => epoch)).toEqual(epochs); // B2
});

test('what is given up goes to the taker at once; what is not, when the shutdown limit is over, under a new epoch [B10 B11]', async () => {
  await start(4);
  await join('a');
  await wake();
  await balanced({ a: 4 });
  await ended();
  await join('b');
  await wake();
  await eventually(async () => (await asked()) === 2);
  expect(await countOf('b')).toBe(0); // a joining node gets nothing in the round that revokes
  const [first, second] = await revoked('a');
  await muster.env.sleep(14_000);
  await renew('a');
  expect(await countOf('b')).toBe(0);
  // Slowly, but within its time.
  expect(await releasePartitions(pool, 'a', [first!], null)).toEqual([first!.id]);
  await wake();
  await balanced({ a: 3, b: 1 });
  await muster.env.sleep(14_000);
  expect(await countOf('b')).toBe(1); // 28 s: its time is not over
  await muster.env.sleep(14_000);
  await balanced({ a: 2, b: 2 });
  const now = (await leases()).find(({ no }) => second!.id.endsWith(`/${no}`))!;
  expect(now).toMatchObject({ holder: 'b', epoch: second!.epoch + 1, wanted: null });
  // The one that was too slow: refused, whatever it still believes.
  expect(await releasePartitions(pool, 'a', [second!], null)).toEqual([]);
  await renewPartitions(pool, 'a', [second!], 60_000);
  expect((await leases()).find(({ no }) => second!.id.endsWith(`/${no}`))!.holder).toBe('b');
  await ended();
});

test('the partitions of a node that died without a word are given out when its lease has passed, not before [B16 B3]', async () => {
  await start(4);
  await join('a');
  await join('b');
  await wake();
  await ended();
  await pool.query(`update lease set expires_at = clock() + interval '50 s' where holder = 'a'`);
  await pool.query(`update lease set expires_at = clock() + interval '1 h' where holder = 'b'`);
  await die('a');
  await wake();
  await eventually(async () => (await status()).waitingMs !== null);
  await muster.env.sleep(35_000);
  expect(await countOf('a')).toBe(2);
  await muster.env.sleep(17_000);
  await balanced({ a: 0, b: 4 });
  await ended();
});

test('a node that stops cleanly under its name gets its own back within the grace; nobody else has them meanwhile', async () => {
  await start(4);
  await join('a-1', 'a');
  await join('b');
  await wake();
  await ended();
  const own = await held('a-1');
  await releasePartitions(pool, 'a-1', own, { name: 'a', forMs: 60_000 });
  await pool.query(`delete from node where id = 'a-1'`);
  await pool.query(`update lease set expires_at = clock() + interval '1 h' where holder = 'b'`);
  await wake();
  await muster.env.sleep(10_000);
  expect(await countOf('b')).toBe(2);
  await join('a-2', 'a');
  await wake();
  await balanced({ 'a-2': 2, b: 2 });
  expect((await held('a-2')).map(({ id }) => id).sort()).toEqual(own.map(({ id }) => id).sort());
  // No round may run between the release and the node's end: it would give them back to a node that
  // still seems to be there.
  await ended();
  // It goes again, and does not come back.
  await releasePartitions(pool, 'a-2', await held('a-2'), { name: 'a', forMs: 60_000 });
  await pool.query(`delete from node where id = 'a-2'`);
  await wake();
  await muster.env.sleep(45_000);
  expect(await countOf('b')).toBe(2);
  await muster.env.sleep(17_000);
  await balanced({ b: 4 });
  await ended();
});

test('a node that restarts keeps what it had of several handlers', async () => {
  await start(2);
  const first = placed;
  placed = `placed-${++handlers}`;
  await registerHandler(
    pool,
    defineHandler({ ...options, name: placed, affinity: { partitions: 2, attributes: { zone: 'eu' } } }),
  );
  for (const id of ['a-1', 'b'])
    await touchNode(pool, {
      id,
      name: id === 'b' ? null : 'a',
      taskQueue: 'none',
      handlers: [first, placed],
      version: '1',
      attributes: { zone: 'eu' },
      draining: false,
    });
  await pool.query(`update node set seen_at = clock() + interval '1 day' where id in ('a-1', 'b')`);
  await pool.query(`update partition set pinned_to = 'a-1', pinned_at = clock()`);
  await wake();
  await balanced({ 'a-1': 4 });
  await ended();
  await pool.query('update partition set pinned_to = null, pinned_at = null');
  await releasePartitions(pool, 'a-1', await held('a-1'), { name: 'a', forMs: 60_000 });
  await pool.query(`delete from node where id = 'a-1'`);
  await wake();
  await muster.env.sleep(40_000);
  expect(await countOf('b')).toBe(0);
  await muster.env.sleep(22_000);
  await balanced({ b: 4 });
  await ended();
});

test('an admin drains a node, and undoes it; and pins a partition', async () => {
  await start(4);
  await join('a');
  await join('b');
  await wake();
  await ended();
  expect(await drainNode(pool, 'a')).toEqual(['a']);
  await wake();
  await eventually(async () => (await asked()) === 2);
  await releasePartitions(pool, 'a', await held('a'), null);
  await wake();
  await balanced({ a: 0, b: 4 });
  expect(await pinPartition(pool, `partition/${placed}/0`, 'a')).toBe(true); // not while it is drained
  await wake();
  await ended();
  expect(await asked()).toBe(0);
  await undrainNode(pool, 'a');
  await wake();
  await eventually(async () => (await asked()) === 2);
  expect((await revoked('b')).map(({ id }) => id)).toContain(`partition/${placed}/0`);
  await releasePartitions(pool, 'b', await revoked('b'), null);
  await wake();
  await balanced({ a: 2, b: 2 });
  await ended();
});

test('one that nobody is able to have waits for a node, without a timer', async () => {
  await start(2);
  await wake();
  await ended();
  expect(await leases()).toMatchObject([{ holder: null }, { holder: null }]);
});

test('the history is bounded: it continues as new, under signals, and loses nothing', async () => {
  await start(6);
  await join('a');
  await wake();
  await balanced({ a: 6 });
  await ended();
  await join('b');
  const id = balancerWorkflowId(muster.prefix);
  const { signaledRunId: first } = await muster.env.client.workflow.signalWithStart('balancer', {
    workflowId: id,
    taskQueue: muster.prefix,
    args: [{ turnsPerRun: 2 }],
    signal: 'look',
    signalArgs: [],
  });
  await eventually(async () => (await asked()) === 3);
  // One wake at a time: one that comes while a run ends makes the server ask it again, and it may
  // then have nothing left to do.
  await wake();
  await eventually(async () => (await status()).rounds === 2);
  await wake();
  await eventually(async () => {
    const { status: now } = await muster.env.client.workflow.getHandle(id, first).describe();
    return now.name === 'CONTINUED_AS_NEW';
  });
  await releasePartitions(pool, 'a', await revoked('a'), null);
  for (let i = 0; i < 5; i++) await wake();
  await balanced({ a: 3, b: 3 });
  await ended();
  const events = (await muster.env.client.workflow.getHandle(id).fetchHistory()).events ?? [];
  expect(events.length).toBeLessThan(60);
});
