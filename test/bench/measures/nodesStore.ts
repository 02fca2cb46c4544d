import { createStore } from '../../../examples/support/database';
import { touchNode, readNodeFacts } from '../../../postgres/nodes/node';
import { assignPartitions, readPartitions } from '../../../postgres/nodes/partition';
import { nextSilenceInMs, readHeldPartitions, renewPartitions } from '../../../postgres/nodes/partitionLease';
import { createPool } from '../../../postgres/pool';
import type { Pool } from '../../../postgres/pool';
import { startPostgres } from '../../../workers/embedded';

/**
 * What the coordination of a fleet costs Postgres, statement by statement, on tables of that size;
 * with shipped settings of Postgres.
 */
export interface StoreMeasure {
  kind: 'store';
  partitions: number;
  nodes: number;
  leaseMs: number;
  /** ms each, medians: of one node, every third of a lease. */
  touchMs: number;
  renewMs: number;
  heldMs: number;
  silenceMs: number;
  /** ms, of one round of the balancer: what it reads, and writing all partitions of one node. */
  roundReadMs: number;
  roundWriteMs: number;
  /** A second, of the whole fleet at rest. */
  statements: number;
  rowsRenewed: number;
  /** Of one core of this machine, with nothing moving. */
  coresBusy: number;
  walBytes: number;
}

const TIMES = 9;
const median = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]!;
const round = (value: number): number => Number(value.toFixed(value < 10 ? 2 : 0));

const timed = async (work: (i: number) => Promise<unknown>): Promise<number> => {
  const times: number[] = [];
  for (let i = 0; i < TIMES; i++) {
    const begun = performance.now();
    await work(i);
    times.push(performance.now() - begun);
  }
  return median(times);
};

const fill = async (pool: Pool, partitions: number, nodes: number): Promise<void> => {
  await pool.query(
    `insert into handler (name, leaders, max_items, linger_ms, per_target, per_handler, retention_ms, timeout_ms)
    select 'h-' || i, 1, 1, 0, 1, 1, 1, 1 from generate_series(1, $1::int) i`,
    [Math.ceil(partitions / 1_000)],
  );
  await pool.query(
    `insert into node (id, task_queue, handlers, version, started_at, seen_at)
    select 'n-' || i, 'q', array(select name from handler), '1', clock(), clock() from generate_series(0, $1::int - 1) i`,
    [nodes],
  );
  await pool.query(
    `insert into lease (resource, holder, epoch, acquired_at, expires_at)
    select 'partition/h-' || (i / 1000 + 1) || '/' || i % 1000, 'n-' || i % $2::int, 1, clock(), clock() + interval '1 hour' from generate_series(0, $1::int - 1) i`,
    [partitions, nodes],
  );
  await pool.query(`insert into partition (resource, handler_id, no)
    select l.resource, h.id, split_part(l.resource, '/', 3)::int from lease l join handler h on h.name = split_part(l.resource, '/', 2)`);
  await pool.query('vacuum analyze');
};

const walOf = async (pool: Pool, work: () => Promise<unknown>): Promise<number> => {
  const at = async (): Promise<string> =>
    (await pool.query<{ at: string }>('select pg_current_wal_insert_lsn()::text as at')).rows[0]!.at;
  const before = await at();
  await work();
  const { rows } = await pool.query<{ n: number }>('select pg_wal_lsn_diff($1::pg_lsn, $2::pg_lsn)::float8 as n', [
    await at(),
    before,
  ]);
  return rows[0]!.n;
};

export const storeOf = async (partitions: number, nodes: number, leaseMs: number): Promise<StoreMeasure> => {
  const postgres = await startPostgres();
  const pool = createPool({ databaseUrl: await createStore(postgres.url, 'bench'), max: 2 });
  try {
    await fill(pool, partitions, nodes);
    const held = await Promise.all(
      Array.from({ length: TIMES }, async (_, i) => await readHeldPartitions(pool, `n-${i}`)),
    );
    const row = (i: number) => ({ id: `n-${i}`, taskQueue: 'q', handlers: ['h-1'], version: '1', draining: false });
    const touchMs = await timed((i) => touchNode(pool, row(i)));
    const renewMs = await timed((i) => renewPartitions(pool, `n-${i}`, held[i]!, 3_600_000));
    const heldMs = await timed((i) => readHeldPartitions(pool, `n-${i}`));
    const silenceMs = await timed((i) => nextSilenceInMs(pool, `n-${i}`, leaseMs));
    const roundReadMs = await timed(() => readPartitions(pool, leaseMs).then(() => readNodeFacts(pool, leaseMs)));
    const epochs = new Map<string, number>();
    const roundWriteMs = await timed(async (i) => {
      const moves = held[0]!.map(({ id, epoch }) => ({
        partition: id,
        epoch: epochs.get(id) ?? epoch,
        node: `n-${i + 1}`,
        reason: 'bench',
      }));
      for (const { partition, epoch } of moves) epochs.set(partition, epoch + 1);
      await assignPartitions(pool, moves, 3_600_000);
    });
    const walBytes = await walOf(pool, async () => {
      await touchNode(pool, row(5));
      await renewPartitions(pool, 'n-5', held[5]!, 3_600_000);
    });
    const ticks = (nodes * 3_000) / leaseMs;
    return {
      kind: 'store',
      partitions,
      nodes,
      leaseMs,
      touchMs: round(touchMs),
      renewMs: round(renewMs),
      heldMs: round(heldMs),
      silenceMs: round(silenceMs),
      roundReadMs: round(roundReadMs),
      roundWriteMs: round(roundWriteMs),
      statements: Math.round(ticks * 4),
      rowsRenewed: Math.round((partitions * 3_000) / leaseMs),
      coresBusy: round((ticks * (touchMs + renewMs + heldMs + silenceMs)) / 1_000),
      walBytes: Math.round(ticks * walBytes),
    };
  } finally {
    await pool.end();
    await postgres.stop();
  }
};
