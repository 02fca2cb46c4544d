import fc from 'fast-check';
import pino from 'pino';
import type { BalanceDeps } from '../../activities/nodes/balance';
import { balancePartitions } from '../../activities/nodes/balance';
import { DEFAULT_NODE_SETTINGS } from '../../activities/nodes/settings';
import { defineHandler } from '../../handlers';
import { registerHandler } from '../../postgres/grouping/handler';
import { partitionName } from '../../postgres/nodes/partition';
import { releasePartitions } from '../../postgres/nodes/partitionLease';
import type { Pool } from '../../postgres/pool';
import { simulate } from '../../workers/testing';
import { createDatabase } from '../helpers/database';
import { rounds } from '../helpers/long';
import { Clock } from '../postgres/ring-protocol/tools/clock';

/** Where simulated nodes have their partitions, each fleet played on the store, too. */

type Step = { kind: 'join' | 'leave' | 'kill' | 'drain' | 'undo'; node: string } | { kind: 'advance'; ms: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    kind: fc.constantFrom('join' as const, 'join' as const, 'leave' as const, 'kill' as const, 'drain' as const),
    node: fc.constantFrom('a', 'b', 'c', 'd'),
  }),
  fc.record({ kind: fc.constant('undo' as const), node: fc.constantFrom('a', 'b', 'c', 'd') }),
  fc.record({ kind: fc.constant('advance' as const), ms: fc.integer({ min: 1, max: 12_000 }) }),
);

/** Only a node that is not there joins, and only one that is does anything else. */
const possible = (steps: readonly Step[]): Step[] => {
  const there = new Set<string>();
  const ever = new Set<string>();
  return steps.filter((one) => {
    if (one.kind === 'advance') return true;
    if (one.kind === 'join') {
      const may = !ever.has(one.node);
      if (may) there.add(one.node);
      ever.add(one.node);
      return may;
    }
    const may = there.has(one.node);
    if (one.kind === 'leave' || one.kind === 'kill') there.delete(one.node);
    return may;
  });
};

const PARTITIONS = 7;
const handler = defineHandler<string>({
  name: 'h',
  target: (to) => to,
  limits: { maxItems: 1 },
  affinity: { partitions: PARTITIONS },
  submit: async () => ({ results: [] }),
});
type Holders = Record<string, string>;

const simulated = async (steps: readonly Step[]): Promise<Holders[]> => {
  const world = simulate(handler, { nodes: [] });
  const seen: Holders[] = [];
  for (const one of steps) {
    if (one.kind === 'advance') await world.advance(one.ms);
    else if (one.kind === 'undo') await world.nodes.drain(one.node, { undo: true });
    else await world.nodes[one.kind](one.node);
    const held = world.nodes.list().flatMap(({ id, partitions }) => partitions.map((name) => [name, id] as const));
    seen.push(Object.fromEntries(held.sort(([a], [b]) => (a < b ? -1 : 1))));
  }
  return seen;
};

/** The fleet on the store: the test renews leases, and runs rounds when they are due. */
class Fleet {
  private readonly live = new Set<string>();
  private readonly killed: number[] = [];
  private atMs: number;
  private turn = 0;

  constructor(
    private readonly pool: Pool,
    private readonly clock: Clock,
  ) {
    this.atMs = clock.nowMs();
  }

  async do(one: Step): Promise<Holders> {
    if (one.kind === 'advance') await this.advance(one.ms);
    else {
      await this.change(one.kind, one.node);
      this.atMs = this.clock.nowMs();
      await this.rounds();
    }
    const { rows } = await this.pool.query<{ resource: string; holder: string }>(
      `select resource, holder from lease where holder is not null and resource like 'partition/%' order by resource`,
    );
    return Object.fromEntries(rows.map(({ resource, holder }) => [partitionName(resource), holder]));
  }

  private async change(kind: Exclude<Step['kind'], 'advance'>, node: string): Promise<void> {
    const { pool } = this;
    if (kind === 'join') {
      this.live.add(node);
      await pool.query(
        `insert into node (id, task_queue, handlers, started_at, seen_at) values ($1, 'q', $2, clock(), clock())`,
        [node, [handler.name]],
      );
    } else if (kind === 'kill') {
      await this.renew();
      this.live.delete(node);
      this.killed.push(this.clock.nowMs());
    } else if (kind === 'leave') {
      await this.release(`holder = '${node}'`);
      this.live.delete(node);
      await pool.query('delete from node where id = $1', [node]);
    } else await pool.query('update node set drained = $2 where id = $1', [node, kind === 'drain']);
  }

  private async advance(ms: number): Promise<void> {
    const untilMs = this.clock.nowMs() + ms;
    while (this.atMs <= untilMs) {
      await this.clock.step(Math.max(0, this.atMs - this.clock.nowMs()));
      await this.rounds();
    }
    await this.clock.step(untilMs - this.clock.nowMs());
    await this.renew();
  }

  private async rounds(): Promise<void> {
    const { pool } = this;
    const { leaseMs } = DEFAULT_NODE_SETTINGS;
    const deps = { pool, nodes: DEFAULT_NODE_SETTINGS, log: pino({ level: 'silent' }) } as unknown as BalanceDeps;
    for (;;) {
      await this.renew();
      const { dueInMs } = await balancePartitions(deps, { runId: 'r', turn: ++this.turn });
      const released = await this.release(`revoked_at is not null and holder = any('{${[...this.live].join()}}')`);
      if (released || dueInMs === 0) continue;
      const nowMs = this.clock.nowMs();
      const silent = this.killed.map((at) => at + leaseMs - nowMs).filter((inMs) => inMs > 0);
      this.atMs = Math.ceil(nowMs + Math.min(dueInMs ?? Infinity, ...silent));
      return;
    }
  }

  private async renew(): Promise<void> {
    const live = [...this.live];
    await this.pool.query('update node set seen_at = clock() where id = any($1)', [live]);
    await this.pool.query(
      `update lease set expires_at = clock() + interval '10 s'
       where holder = any($1) and expires_at < clock() + interval '10 s'`,
      [live],
    );
  }

  private async release(which: string): Promise<boolean> {
    const { rows } = await this.pool.query<{ id: string; epoch: number; holder: string }>(
      `select resource as id, epoch, holder from lease where resource like 'partition/%' and ${which}`,
    );
    for (const { holder, ...held } of rows) await releasePartitions(this.pool, holder, [held], null);
    return rows.length > 0;
  }
}

const replayed = async (steps: readonly Step[]): Promise<Holders[]> => {
  const database = await createDatabase({ max: 4 });
  try {
    const clock = await Clock.create(database.pool);
    await clock.step(3_600_000); // just after the server's start no lease counts as passed
    await registerHandler(database.pool, handler);
    const fleet = new Fleet(database.pool, clock);
    const seen: Holders[] = [];
    for (const one of steps) seen.push(await fleet.do(one));
    return seen;
  } finally {
    await database.drop();
  }
};

test('simulated nodes hold the partitions that the balancer of the real store gives them', async () => {
  const seed = Number(process.env['MUSTER_TEST_SEED'] ?? 7);
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 14 }).map(possible), async (steps) => {
      expect(await simulated(steps)).toEqual(await replayed(steps));
    }),
    { seed, numRuns: rounds(10, 200), endOnFailure: true },
  );
}, 600_000);
