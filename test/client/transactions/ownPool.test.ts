import pg from 'pg';
import { createClient } from '../../../client';
import type { Client, ClientOptions } from '../../../client';
import { RejectedError, defineHandler } from '../../../handlers';
import { borrowPool, inTransaction } from '../../../postgres/pool';
import { temporalAddress } from '../../helpers/database';
import type { TestMuster } from '../../helpers/muster';
import { startMuster } from '../../helpers/muster';
import { reachesStatus } from '../../helpers/reachesStatus';
import { expectWhole } from '../../helpers/whole';
import { Downstream, items, okay } from '../../lanes/downstream';

/**
 * The caller's own pool of `pg`, and a pool of one connection, which must not wait for itself.
 *
 * @slow
 */

interface Job {
  to: string;
}
const jobs = defineHandler<Job>({
  name: 'jobs',
  target: ({ to }) => to,
  limits: { maxItems: 20 },
  linger: { lingerMs: 20 },
  submit: async (batch) => okay(batch),
});
const downstream = new Downstream();
const named = downstream.handler({ name: 'named', service: (target) => target, lane: { onInvalid: 'halt' } });
const handlers = [jobs, named];
const job = (id: string, to = 'a'): { id: string; payload: Job } => ({ id, payload: { to } });

let muster: TestMuster;
beforeAll(async () => {
  downstream.answer = (batch) => {
    if (batch.tasks[0]!.payload.price === -1) throw new RejectedError('no');
    return okay(batch);
  };
  muster = await startMuster(handlers, { sweepEveryMs: 0 });
});
afterAll(() => muster.stop());
afterEach(() => expectWhole(muster.client));

/** A wait for a connection ends with an error, long before a test does. */
const poolOf = (max: number): pg.Pool =>
  new pg.Pool({ connectionString: muster.database.url, max, connectionTimeoutMillis: 5_000 });
const withClient = async (options: Partial<ClientOptions>, work: (client: Client) => Promise<void>): Promise<void> => {
  const client = createClient({
    databaseUrl: muster.database.url,
    handlers,
    prefix: muster.prefix,
    temporal: { address: temporalAddress() },
    ...options,
  });
  try {
    await work(client);
  } finally {
    await client.close();
  }
};

test('a pool of the caller’s own works as ours does, and its sessions stay as they are', async () => {
  const pool = poolOf(1);
  await withClient({ pool }, async (client) => {
    await client.submit(
      'jobs',
      [...Array(60).keys()].map((i) => job(`own-${i}`)),
    ); // by COPY
    const tasks = await client.waitFor(['own-0', 'own-59']);
    expect(tasks.map(({ state, batch }) => [state, typeof batch])).toEqual([
      ['succeeded', 'number'],
      ['succeeded', 'number'],
    ]);
    const { batch } = await client.batches.submit('named', 'own', items('own'));
    await reachesStatus(client, batch, 'committed');
    expect(await client.lanes.get('own')).toMatchObject({ depth: 0 });
    expect((await client.verify({ full: true })).ok).toBe(true);
    expect(await client.audit.list()).toBeDefined();
  });
  const { rows } = await pool.query(`select current_setting('search_path') as path, 1::bigint as n,
    (select count(*)::int from pg_prepared_statements) as prepared`);
  expect(rows).toEqual([{ path: '"$user", public', n: '1', prepared: 0 }]);
  await pool.end();
});

test('a connection that the server ends within a transaction fails that transaction, not the process', async () => {
  const pool = poolOf(1);
  const work = inTransaction(borrowPool(pool, 'muster'), async (tx) => {
    const ended = new Promise((resolve) => tx.once('end', resolve));
    const { rows } = await tx.query<{ pid: number }>('select pg_backend_pid() as pid');
    await muster.database.pool.query({ text: 'select pg_terminate_backend($1)', values: [rows[0]!.pid] });
    await ended;
    await tx.query('select 1');
  });
  await expect(work).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE' });
  expect((await pool.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
  await pool.end();
});

test('a transaction that holds the only connection can submit what was never seen', async () => {
  const pool = poolOf(1);
  await withClient({ pool }, async (client) => {
    const tx = await pool.connect();
    await tx.query('begin');
    const accepted = await client.submit('jobs', { ...job('one-1', 'one'), callback: { workflowId: 'w' } }, { tx });
    const lane = await client.submit('named', items('one'), { tx });
    const batch = await client.batches.submit('named', 'two', items('two'), { tx });
    await tx.query('commit');
    tx.release();
    await accepted.ring();
    await lane.ring();
    await batch.ring();
    await client.waitFor('one-1', { timeoutMs: 60_000 });
    await reachesStatus(client, batch.batch, 'committed');
  });
  await pool.end();
});

test('transactions that hold all connections of a pool do not wait for each other', async () => {
  const pool = poolOf(3);
  await withClient({ pool }, async (client) => {
    const all = await Promise.all([1, 2, 3].map(() => pool.connect()));
    await Promise.all(all.map((tx) => tx.query('begin')));
    const accepted = await Promise.all(all.map((tx, i) => client.submit('jobs', job(`all-${i}`, `all-${i}`), { tx })));
    await Promise.all(all.map((tx) => tx.query('commit')));
    for (const tx of all) tx.release();
    for (const one of accepted) await one.ring();
    await client.waitFor(['all-0', 'all-1', 'all-2'], { timeoutMs: 60_000 });
  });
  await pool.end();
});

test('a client of one connection: every kind of verb', async () => {
  const first = await muster.client.batches.submit('named', 'fix', items('fix', 1, { price: -1 }));
  await reachesStatus(muster.client, first.batch, 'invalid');
  await withClient({ maxConnections: 1 }, async (client) => {
    // The handler and the target are new to this client, and looked up while the lane is locked.
    const fixed = await client.lanes.fix('fix', { items: items('fix') });
    await reachesStatus(client, fixed.batch, 'committed');
    await Promise.all([...Array(20).keys()].map((i) => client.submit('jobs', job(`many-${i}`, `m-${i % 3}`))));
    await client.waitFor('many-19');
    await client.targets.pause('jobs', 'm-0');
    await client.targets.resume('jobs', 'm-0');
    const fanout = await client.fanouts.open();
    const [item] = await client.items.add(fanout.id, 1);
    await client.fanouts.seal(fanout.id);
    await client.items.ack([item!]);
    expect(await client.fanouts.get(fanout.id)).toMatchObject({ state: 'complete' });
    expect((await client.verify()).ok).toBe(true);
  });
});
