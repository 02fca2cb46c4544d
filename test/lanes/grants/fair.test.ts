import { DEFAULT_NODE_SETTINGS } from '../../../activities/nodes/settings';
import { randomUUID } from 'node:crypto';
import { grantLanes } from '../../../activities/lanes/grant';
import type { Client, StrategyName } from '../../../client';
import { moveLaneBatch } from '../../../postgres/lanes/settle';
import { STATUSES } from '../../../workflows/planning/lanes/statuses';
import type { TestDatabase } from '../../helpers/database';
import { Downstream, items } from '../downstream';
import type { LaneStore } from '../laneStore';
import { openLaneStore } from '../laneStore';

/**
 * Fair grants from the store (C3, C8, C13): the spec's rows about many waiting, whatever the
 * strategy. No worker: turns by hand.
 */

let shop: LaneStore;
let database: TestDatabase;
let client: Client;
beforeEach(async () => {
  const one = new Downstream();
  shop = await openLaneStore([
    one.handler({ name: 'guaranteed', lane: { kind: 'guaranteed' } }),
    one.handler({ name: 'free', lane: { approach: 'unconstrained' } }),
  ]);
  ({ database, client } = shop);
  await shop.pretendWorker(['guaranteed', 'free']);
});
afterEach(() => shop.stop());

const submit = async (handler: string, service: string, n: number): Promise<void> =>
  void (await client.submitBatches(
    handler,
    Array.from({ length: n }, () => ({ service, items: items(service) })),
  ));

class Queuer {
  private readonly runId = randomUUID();
  private turn = 0;
  /**
   * One turn; what it granted is accepted at once (status pending), its submitters are over.
   * Services in the order of their grants.
   */
  async grant(): Promise<string[]> {
    const turn = { queuerId: 0, runId: this.runId, runStartedAtMs: 1, turn: ++this.turn, live: [], mayClaim: true };
    await grantLanes(
      {
        pool: database.pool,
        leaseMs: 15_000,
        nodes: DEFAULT_NODE_SETTINGS,
        log: { error: (...args: unknown[]) => expect(args).toEqual([]) },
      },
      turn,
    );
    const { rows } = await database.pool.query<{ id: number; service: string }>(
      `select s.batch_id as id, l.service from lane_batch s join lane l on l.id = s.lane_id where s.status = 3 order by s.granted_at, s.batch_id`,
    );
    for (const { id } of rows) {
      await database.pool.query('update batch set dispatch = null where id = $1', [id]);
      await moveLaneBatch(database.pool, id, STATUSES.pending);
    }
    await database.pool.query('delete from submitter');
    return rows.map(({ service }) => service);
  }
}

test.each(['per-service', 'one-round', 'multi-round'] as const)(
  'A has 1,000 waiting, B, C, D one each, one submitter, guaranteed order, %s: B, C, D are among the first 4 grants [C3 C8]',
  async (strategy) => {
    await client.setQueuer({ slots: 1, strategy });
    await submit('guaranteed', 'A', 1_000);
    for (const service of ['B', 'C', 'D']) await submit('guaranteed', service, 1);
    const queuer = new Queuer();
    const served: string[] = [];
    for (let i = 0; i < 6; i++) served.push(...(await queuer.grant()));
    expect(served.slice(0, 4).sort()).toEqual(['A', 'B', 'C', 'D']);
    expect(served.slice(4)).toEqual(['A', 'A']);
  },
);

test('single serves in order of submission, known to be unfair [C21]', async () => {
  await client.setQueuer({ slots: 1, strategy: 'single' });
  await submit('guaranteed', 'A', 4);
  await submit('guaranteed', 'B', 1);
  const queuer = new Queuer();
  const served: string[] = [];
  for (let i = 0; i < 5; i++) served.push(...(await queuer.grant()));
  expect(served).toEqual(['A', 'A', 'A', 'A', 'B']);
});

test.each(['single', 'per-service', 'one-round', 'multi-round'] as const)(
  '64 submitters, 4 services, %s: every submitter is used while batches remain and the approach allows it [C13]',
  async (strategy: StrategyName) => {
    await client.setQueuer({ slots: 64, strategy, depth: 3 });
    for (const service of ['A', 'B', 'C', 'D']) await submit('free', service, 40);
    const queuer = new Queuer();
    const rounds: number[] = [];
    // A turn says `again` while it could grant more; a queuer takes the next at once.
    for (let granted = 0; granted < 160;) {
      const services = await grantAll(queuer);
      rounds.push(services);
      granted += services;
    }
    expect(rounds).toEqual([64, 64, 32]);
  },
);

/** Turns until the submitters are used up or nothing is left. */
const grantAll = async (queuer: Queuer): Promise<number> => {
  let granted = 0;
  for (let turn = 0; turn < 64 && granted < 64; turn++) {
    await client.setQueuer({ slots: 64 - granted });
    const services = await queuer.grant();
    if (services.length === 0) break;
    granted += services.length;
  }
  await client.setQueuer({ slots: 64 });
  return granted;
};

test('a weight changed on an existing backlog counts from the next grant on [C22]', async () => {
  await client.setQueuer({ slots: 1, strategy: 'per-service' });
  for (const service of ['A', 'B']) await submit('guaranteed', service, 60);
  const queuer = new Queuer();
  const serve = async (n: number): Promise<number> => {
    let ofA = 0;
    for (let i = 0; i < n; i++) ofA += (await queuer.grant())[0] === 'A' ? 1 : 0;
    return ofA;
  };
  expect(await serve(8)).toBe(4);
  await client.setLaneWeight('A', 3);
  expect(await serve(16)).toBe(12);
});
