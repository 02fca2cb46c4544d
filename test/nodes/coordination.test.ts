import type { Connection, WorkflowClientInterceptor } from '@temporalio/client';
import { Client } from '@temporalio/client';
import { DEFAULT_NODE_SETTINGS } from '../../activities/nodes/settings';
import { defineHandler } from '../../handlers';
import { registerHandler } from '../../postgres/grouping/handler';
import { touchNode } from '../../postgres/nodes/node';
import type { Pool } from '../../postgres/pool';
import { createPool } from '../../postgres/pool';
import { Balancing } from '../../workers/sweeper/balancing';
import { balancerWorkflowId } from '../../workflows/naming';
import { Requests } from '../../workflows/temporal/requests';
import type { TestDatabase } from '../helpers/database';
import { connectTo, createDatabase, temporalAddress } from '../helpers/database';
import { eventually } from '../helpers/eventually';
import { noPartitions } from '../helpers/noPartitions';
import type { Proxy } from '../helpers/proxy';
import { startProxyOf } from '../helpers/proxy';

/** Which node tells the balancer and which runs a round, while Temporal is unreachable (B18). */

const PARTITIONS = 4;
const nodes = { ...DEFAULT_NODE_SETTINGS, leaseMs: 1_000, shutdownLimitMs: 500, minimumHoldMs: 0 };
const quiet = { info: () => undefined, warn: () => undefined, error: () => undefined };
let database: TestDatabase;
let proxy: Proxy;
let connection: Connection;
let direct: Connection;
let temporal: Client;
let wakes = 0;
let underWay = 0;
let prefix = '';
let made = 0;
const pools: Pool[] = [];
const started: Balancing[] = [];

beforeAll(async () => {
  proxy = await startProxyOf(`tcp://${temporalAddress()}`);
  connection = await connectTo({
    address: `127.0.0.1:${proxy.port}`,
    // It finds out at once that Temporal is back.
    channelArgs: { 'grpc.initial_reconnect_backoff_ms': 100, 'grpc.max_reconnect_backoff_ms': 200 },
  });
  direct = await connectTo({ address: temporalAddress() });
  const count: WorkflowClientInterceptor = {
    signalWithStart: (input, next) => {
      wakes++;
      underWay++;
      return next(input).finally(() => underWay--);
    },
  };
  temporal = new Client({ connection, interceptors: { workflow: [count] } });
});
afterAll(async () => {
  await connection.close();
  await direct.close();
  await proxy.stop();
});
beforeEach(async () => {
  wakes = 0;
  prefix = `coordination-${process.pid}-${Date.now()}-${++made}`;
  database = await createDatabase();
  const orders = defineHandler<{ shop: string }>({
    name: 'orders',
    target: ({ shop }) => shop,
    limits: { maxItems: 1 },
    affinity: { partitions: PARTITIONS },
    submit: () => Promise.resolve({ results: [] }),
  });
  await registerHandler(database.pool, orders);
});
afterEach(async () => {
  proxy.resume();
  await eventually(() => underWay === 0);
  await Promise.all(started.splice(0).map((one) => one.stop()));
  await balancer().terminate();
  await Promise.all(pools.splice(0).map((pool) => pool.end()));
  await database.drop();
});

const balancer = () => new Client({ connection: direct }).workflow.getHandle(balancerWorkflowId(prefix));
const isTold = (): Promise<boolean> =>
  balancer()
    .describe()
    .then(
      () => true,
      () => false,
    );
const cutTemporalOff = (): void => {
  proxy.refuse();
  proxy.reset();
};
const sign = (id: string): Promise<unknown> =>
  touchNode(database.pool, { id, taskQueue: 'q', handlers: ['orders'], version: '1', draining: false });

/** A node's part; returns what its heartbeat thread calls when another node falls silent. */
const join = async (id: string): Promise<{ silentNode: () => void; isResting: () => boolean }> => {
  await sign(id);
  const pool = createPool({ databaseUrl: database.url, max: 2, applicationName: id });
  pools.push(pool);
  let silentNode = (): void => undefined;
  const heartbeat = { partitions: (_: unknown, hear: { silentNode: () => void }) => (silentNode = hear.silentNode) };
  const requests = new Requests(temporal);
  const deps = { pool, requests, prefix, log: quiet, node: id, heartbeat, ...noPartitions(pool, id), nodes };
  const balancing = new Balancing(() => deps as never);
  balancing.start();
  started.push(balancing);
  return { silentNode, isResting: () => pool.idleCount === pool.totalCount && pool.waitingCount === 0 };
};

test('coordination calls retry: a node that joins while Temporal is away tells the balancer when it is back [B18]', async () => {
  cutTemporalOff();
  await join('a');
  await eventually(() => wakes >= 2);
  expect(await isTold()).toBe(false);
  proxy.resume();
  await eventually(isTold);
});

test('of three nodes that notice a silence at the same time one runs a round, whatever Temporal does [B18]', async () => {
  const { pool } = database;
  // Every round locks the assignor's lease under the name of the process that runs it.
  await pool.query(`
create table round (runner text not null);
create function note_round() returns trigger language plpgsql as $$ begin
  insert into muster.round values (new.holder); return null; end $$;
create trigger note_round after insert or update on lease for each row
  when (new.resource = 'assignor') execute function note_round()`);
  const ids = ['a', 'b', 'c'];
  const all = await Promise.all(ids.map(join));
  await eventually(isTold); // it has no worker, and runs no round
  cutTemporalOff();
  const noticed = async (silences: number): Promise<void> => {
    await Promise.all(ids.map(sign));
    await pool.query(
      `update lease set holder = 'gone', expires_at = clock() - interval '1 ms' where resource like 'partition/%'`,
    );
    // All three ask for the right to run a round before any of them has it.
    const held = await pool.connect();
    await held.query('begin');
    await held.query(
      `insert into lease (resource, holder, epoch, acquired_at, expires_at)
       values ('wake-balancer', 'nobody', 0, clock(), clock()) on conflict (resource) do update set epoch = lease.epoch`,
    );
    for (const { silentNode } of all) silentNode();
    await eventually(async () => {
      const { rows } = await pool.query<{ n: number }>(
        `select count(*)::int as n from pg_stat_activity where application_name = any($1) and wait_event_type = 'Lock'`,
        [ids],
      );
      return rows[0]!.n === ids.length;
    });
    await held.query('commit');
    held.release();
    await eventually(async () => {
      const { rows } = await pool.query(`select from lease where resource like 'partition/%' and holder = any($1)`, [
        ids,
      ]);
      return rows.length === PARTITIONS && all.every(({ isResting }) => isResting());
    });
    const { rows } = await pool.query<{ runner: string }>('select runner from round');
    expect(rows).toHaveLength(silences);
    for (const { runner } of rows) expect(ids).toContain(runner);
  };
  await noticed(1);
  // The right to run one lasts a second: the next silence has its own round.
  await eventually(
    async () =>
      (await pool.query(`select from lease where resource = 'wake-balancer' and expires_at <= clock()`)).rowCount === 1,
  );
  await noticed(2);
  const before = wakes;
  await eventually(() => wakes > before); // it still tries to tell the balancer
});
