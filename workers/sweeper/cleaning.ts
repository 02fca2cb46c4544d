import type { Logger } from 'pino';
import type { Sealer } from '../../handlers/codec/sealer';
import { deleteStaleNodes, forgetDrains } from '../../postgres/nodes/node';
import type { Pool } from '../../postgres/pool';
import { Retention } from '../../postgres/sweeper/retention';
import { deleteStaleDispatches } from '../../postgres/sweeper/sweep';
import { UnusedRows } from '../../postgres/sweeper/unusedRows';
import { DAY_MS } from '../../workflows/planning/duration';
import type { SweepCounts } from './counts';
import { UnneededObjects } from './unneededObjects';

const EXPIRED_TASKS = 20_000;
const STALE_NODE_MS = 3_600_000;
/** A process that has been gone for this long does not come back. */
const FORGET_DRAIN_MS = 7 * 24 * 3_600_000;
const STALE_DISPATCH_MS = 600_000;

/** A transaction that is open for longer was forgotten. */
const KEPT_MS = DAY_MS;
const UNUSED_KEPT =
  'unused targets are kept, since a transaction does not end: look for the oldest backend_xid in ' +
  'pg_stat_activity, and at pg_prepared_xacts';

interface Options {
  pool: Pool;
  log: Logger;
  sealer?: Sealer | null;
  keepOutcomesMs?: number | undefined;
  deleteExpired?: (pool: Pool, limit: number) => Promise<number>;
}

/**
 * Deletes what is kept no longer: nodes, dispatches, tasks, targets, lanes, leaders, objects.
 * Beside the sweeper's rounds: a deletion may wait for a lock, or for the disk, and nothing else is
 * to.
 */
export class Cleaning {
  private running: Promise<void> | null = null;
  private stopped = false;
  /** An outage is logged once. */
  private isFailing = false;
  private readonly retention: Retention;
  private readonly objects: UnneededObjects;
  private readonly unused = new UnusedRows();

  constructor(private readonly options: Options) {
    const { pool, log, sealer = null, keepOutcomesMs } = options;
    this.retention = new Retention(undefined, { keepOutcomesMs, notesObjects: sealer?.deletesObjects === true });
    this.objects = new UnneededObjects({ pool, log, sealer });
  }

  /** Begins to delete, unless that is being done. */
  begin(counts: SweepCounts): void {
    if (this.stopped) return;
    this.running ??= this.round(counts)
      .then(() => void (this.isFailing = false))
      .catch((error: unknown) => this.failed(error, counts))
      .finally(() => (this.running = null));
  }

  private failed(error: unknown, counts: SweepCounts): void {
    counts.failures++;
    if (!this.isFailing) this.options.log.warn({ err: error, step: 'retention' }, 'sweeper: a step failed');
    this.isFailing = true;
  }

  async round(counts: SweepCounts): Promise<void> {
    const { pool, log, deleteExpired } = this.options;
    this.objects.begin(counts);
    counts.deletedNodes += await deleteStaleNodes(pool, STALE_NODE_MS);
    await forgetDrains(pool, FORGET_DRAIN_MS);
    counts.deletedDispatches += await deleteStaleDispatches(pool, STALE_DISPATCH_MS);
    counts.deletedTasks += await (deleteExpired === undefined
      ? this.retention.deleteExpired(pool, EXPIRED_TASKS)
      : deleteExpired(pool, EXPIRED_TASKS));
    const { targets, lanes, leaders, keptForMs } = await this.unused.look(pool);
    if (keptForMs > KEPT_MS) log.warn({ keptForMs }, UNUSED_KEPT);
    counts.deletedTargets += targets;
    counts.deletedLanes += lanes;
    counts.deletedLeaders += leaders;
  }

  /** Waits for what is being deleted. */
  async stop(): Promise<void> {
    this.stopped = true;
    await this.running;
    await this.objects.stop();
  }
}
