import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Connection } from '@temporalio/client';
import { Client } from '@temporalio/client';
import pino from 'pino';
import { defineHandler } from '../../../handlers';
import { registerHandler } from '../../../postgres/grouping/handler';
import { acquireLease } from '../../../postgres/lease';
import { touchNode } from '../../../postgres/nodes/node';
import { SweeperLease } from '../../../workers/sweeper/lease/sweeperLease';
import type { SweeperOptions } from '../../../workers/sweeper/sweeper';
import { Sweeper } from '../../../workers/sweeper/sweeper';
import { leaderWorkflowId } from '../../../workflows/naming';
import { Requests } from '../../../workflows/temporal/requests';
import type { TestDatabase } from '../../helpers/database';
import { connectTo, createDatabase, temporalAddress } from '../../helpers/database';
import { eventually } from '../../helpers/eventually';

/**
 * The sweeper was killed together with a worker that it watched: what the next one needs to know is
 * known to it, and one that lives keeps its place.
 *
 * @slow
 */

const prefix = `next-${randomUUID()}`;
const workflowId = leaderWorkflowId(prefix, 'jobs', '0', 1);
let database: TestDatabase;
let connection: Connection;
let client: Client;
const started: Sweeper[] = [];
beforeAll(async () => {
  database = await createDatabase();
  connection = await connectTo({ address: temporalAddress() });
  client = new Client({ connection });
  const jobs = defineHandler<{ to: string }>({
    name: 'jobs',
    target: ({ to }) => to,
    limits: { maxItems: 10 },
    leaders: 1,
    submit: async () => ({ results: [] }),
  });
  await registerHandler(database.pool, jobs);
});
afterEach(async () => {
  await Promise.all(started.splice(0).map((sweeper) => sweeper.stop()));
});
afterAll(async () => {
  await client.workflow.getHandle(workflowId).terminate();
  await connection.close();
  await database.drop();
});

const begin = (node: string, more: Partial<SweeperOptions> = {}): Sweeper => {
  const { pool } = database;
  const own = { pool, requests: new Requests(client), prefix, node, leaseMs: 15_000, log: pino({ enabled: false }) };
  const sweeper = new Sweeper({ ...own, everyMs: 200, ...more });
  started.push(sweeper);
  sweeper.start();
  return sweeper;
};

test('who has long been in touch with the store takes an old sign of life for what it is at once', async () => {
  const { pool } = database;
  await acquireLease(pool, 'sweeper', 'killed', 3_600_000);
  begin('next');
  await sleep(10_500); // an outage of the store is longer ago than that
  await touchNode(pool, { id: 'dead', taskQueue: 'q', handlers: [], version: '1', draining: false });
  await pool.query(`update node set seen_at = clock() - interval '20 s' where id = 'dead'`);
  const taskQueue = { name: `next-${randomUUID()}` };
  const { firstExecutionRunId } = await client.workflow.start('leader', {
    ...{ taskQueue: taskQueue.name, workflowId, workflowTaskTimeout: '2 minutes' },
  });
  await connection.withDeadline(Date.now() + 20_000, () =>
    client.workflowService.pollWorkflowTaskQueue({ namespace: 'default', taskQueue, identity: 'dead' }),
  );
  await pool.query(`insert into leader (handler_id, name, state, woken_at, expires_at)
    select id, '0', 1, clock() - interval '3 s', clock() + interval '1 hour' from handler`);
  await pool.query(`update lease set expires_at = clock() where resource = 'sweeper'`);
  const from = performance.now();
  const run = client.workflow.getHandle(workflowId, firstExecutionRunId);
  await eventually(async () => (await run.describe()).status.name === 'TERMINATED', { timeoutMs: 30_000 });
  const tookMs = performance.now() - from;
  expect(tookMs).toBeGreaterThan(3_800); // a living node gives a sign meanwhile
  expect(tookMs).toBeLessThan(8_000);
});

test('a round that takes longer than the lease keeps it', async () => {
  const slow = begin('slow');
  await eventually(() => slow.counts.rounds > 0);
  const locking = await database.pool.connect();
  await locking.query('begin');
  await locking.query('lock table delayed');
  const other = begin('other');
  const { rounds } = slow.counts;
  await sleep(9_000);
  await locking.query('rollback');
  locking.release();
  expect(slow.counts.rounds).toBeLessThan(rounds + 2);
  await eventually(() => slow.counts.rounds > rounds + 1);
  expect(other.counts.rounds).toBe(0);
});

test('deletions that take long hold up no round and no other process, and are begun one at a time', async () => {
  let begun = 0;
  let finish: () => void = () => undefined;
  const deleteExpired = () => {
    begun++;
    return new Promise<number>((resolve) => (finish = () => resolve(0)));
  };
  const sweeper = begin('deletes', { deleteExpired });
  await eventually(() => begun === 1);
  const { rounds } = sweeper.counts;
  await eventually(() => sweeper.counts.rounds > rounds + 3, { timeoutMs: 2_500 });
  const stopping = sweeper.stop();
  const next = begin('next');
  await eventually(() => next.counts.rounds > 0, { timeoutMs: 4_000 }); // before the lease would have ended
  expect(begun).toBe(1);
  finish();
  await stopping;
});

/** The lease as one process keeps it, whose statements can hang. */
const keptLease = () => {
  const { pool } = database;
  const store = { hangs: false, fails: false };
  const query = (...args: Parameters<typeof pool.query>) => {
    if (store.fails) return Promise.reject(new Error('away'));
    return store.hangs ? new Promise(() => undefined) : pool.query(...args);
  };
  const lease = new SweeperLease({ pool: { query } as unknown as typeof pool, node: 'keeps' });
  return { store, lease };
};

test('a renewal that hangs keeps neither the next round nor a stop from going on', async () => {
  const { store, lease } = keptLease();
  expect(await lease.acquire()).toBe(true);
  store.hangs = true;
  await sleep(2_700); // the renewal is under way
  store.hangs = false;
  const from = performance.now();
  expect(await lease.acquire()).toBe(true);
  await lease.release();
  expect(performance.now() - from).toBeLessThan(4_000);
  expect(lease.isHeld).toBe(false);
});

test('a renewal that failed is tried again', async () => {
  const { store, lease } = keptLease();
  expect(await lease.acquire()).toBe(true);
  const { since } = lease.contact;
  store.fails = true;
  await sleep(2_700);
  expect(lease.contact.since).toBe(Infinity); // who may not write knows nothing of others
  store.fails = false;
  await sleep(2_700);
  expect(lease.contact.since).toBeGreaterThan(since);
  expect(lease.isHeld).toBe(true);
  await lease.release();
});

test('the lease of one that was killed ends within 6 s', async () => {
  const dying = begin('killed');
  await eventually(() => dying.counts.rounds > 0);
  const { rows } = await database.pool.query<{ ms: number }>(
    `select (extract(epoch from expires_at - clock()) * 1000)::float8 as ms from lease where resource = 'sweeper'`,
  );
  expect(rows[0]!.ms).toBeGreaterThan(3_000);
  expect(rows[0]!.ms).toBeLessThan(6_000);
});
