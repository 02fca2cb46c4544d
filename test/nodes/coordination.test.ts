import { balancePartitions } from '../../activities/nodes/balance';
import { defineHandler } from '../../handlers';
import { DEFAULT_NODE_SETTINGS } from '../../activities/nodes/settings';
import { registerHandler } from '../../postgres/grouping/handler';
import { touchNode } from '../../postgres/nodes/node';
import { readPartitions } from '../../postgres/nodes/partition';
import { Balancing } from '../../workers/sweeper/balancing';
import { noPartitions } from '../helpers/noPartitions';
import type { TestDatabase } from '../helpers/database';
import { createDatabase } from '../helpers/database';
import { eventually } from '../helpers/eventually';

/** Who tells whom, while one of the servers is away (B18). */

let database: TestDatabase;
beforeEach(async () => {
  database = await createDatabase();
  const orders = defineHandler<{ shop: string }>({
    name: 'orders',
    target: ({ shop }) => shop,
    limits: { maxItems: 1 },
    affinity: { partitions: 4 },
    submit: () => Promise.resolve({ results: [] }),
  });
  await registerHandler(database.pool, orders);
  await touchNode(database.pool, { id: 'a', taskQueue: 'q', handlers: ['orders'], version: '1', draining: false });
});
afterEach(() => database.drop());

const quiet = { info: () => undefined, warn: () => undefined, error: () => undefined };
/** A Temporal that refuses so many wakes first. */
const depsWith = (refusals: number) => {
  const told = { tries: 0 };
  const temporal = {
    withDeadline: (_: number, send: () => Promise<unknown>) => send(),
    workflow: {
      signalWithStart: () => (++told.tries <= refusals ? Promise.reject(new Error('away')) : Promise.resolve()),
    },
  };
  const deps = {
    pool: database.pool,
    temporal,
    prefix: 'p',
    log: quiet,
    node: 'a',
    heartbeat: { partitions: () => undefined },
    ...noPartitions(database.pool, 'a'),
  };
  return { told, deps: deps as never };
};

test('B18: coordination calls retry: a node that joins tells the balancer until that has heard it', async () => {
  const { told, deps } = depsWith(2);
  const balancing = new Balancing(() => deps);
  balancing.start();
  await eventually(() => told.tries === 3);
  await balancing.stop();
});

test('B18: of several nodes that notice a silence at the same time one runs a round, whatever Temporal does', async () => {
  const { deps } = depsWith(Infinity);
  await Promise.all(
    [1, 2, 3].map(() =>
      balancePartitions({ ...(deps as object), nodes: DEFAULT_NODE_SETTINGS } as never, { runId: 'a', turn: 1 }),
    ),
  );
  const rows = await readPartitions(database.pool, 1);
  expect(rows.map(({ holder, epoch }) => ({ holder, epoch }))).toEqual(
    Array.from({ length: 4 }, () => ({ holder: 'a', epoch: 1 })),
  );
});
