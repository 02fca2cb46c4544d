import type { Registry } from 'prom-client';
import { Counter, Gauge } from 'prom-client';
import type { Logger } from 'pino';
import type { OutcomeMeters } from '../../activities/outcomes/meters';
import { NODE_LIVE_MS } from '../../postgres/nodes/node';
import { countUndelivered } from '../../postgres/callbacks/undelivered';
import * as store from '../../postgres/operations/metrics';
import type { Client, Pool } from '../../postgres/pool';
import { countDueObjects } from '../../postgres/unneededObject';
import { inTransaction } from '../../postgres/pool';
import { CALLBACK_STATES } from '../../workflows/planning/callbacks/undelivered';
import { briefly } from '../../workflows/behind';
import { flushReasonName, LEADER_STATES, leaderStateName } from '../../workflows/planning/states';
import { BulkGauges } from './bulkGauges';
import { ClockGauge } from './clockGauge';
import { ExecutionGauges } from './executionGauges';
import { addLiveGauge } from './liveGauge';
import { PartitionGauges } from './partitionGauges';
import { StalledGauges } from './stalledGauges';
import { TransactionGauge } from './transactionGauge';
import type { SweepCounts } from '../sweeper/counts';

/** Scrapes that come together share one reading. */
const CACHE_MS = 1_000;
/**
 * Counting a very long queue may take longer: then the values stay what they were, and
 * `muster_scrape_failures_total` says so.
 */
const STATEMENT_TIMEOUT_MS = 2_000;
/** Less than a scrape may take: 10 s, where Prometheus is not told otherwise. */
const LONGEST_REFRESH_MS = 5_000;
/**
 * A batch's id is drawn before its transaction commits: those of the last seconds are counted
 * later, or some would be missed.
 */
const SETTLED_AFTER_MS = 5_000;

const PER_HANDLER = {
  queued: ['muster_queued_tasks', 'Tasks waiting in the queue'],
  delayed: ['muster_delayed_tasks', 'Tasks waiting for their time: notBefore, backoff'],
  held: ['muster_held_tasks', 'Tasks waiting for tasks that they depend on'],
  oldestHeldSeconds: ['muster_oldest_held_seconds', 'Age of the oldest task waiting for tasks that it depends on'],
  oldestSeconds: ['muster_oldest_queued_seconds', 'Age of the oldest task in the queue'],
  inFlight: ['muster_calls_in_flight', 'Downstream calls in flight'],
  accepted: ['muster_accepted_batches', 'Batches that the downstream accepted and has not finished'],
  unknown: ['muster_unknown_tasks', 'Parked tasks with an unknown outcome, to be resolved'],
  dead: ['muster_dead_tasks', 'Tasks whose attempts are used up'],
  pausedTargets: ['muster_paused_targets', 'Targets that an operator has paused one by one'],
} as const;

const OF_LANES = {
  lanes: ['muster_lanes', 'Lanes'],
  ready: ['muster_lanes_ready', 'Lanes with work to send'],
  halted: ['muster_lanes_halted', 'Lanes waiting for an operator to skip or fix their first batch'],
  paused: ['muster_lanes_paused', 'Paused lanes'],
  open: ['muster_lane_batches', 'Lane batches that have not ended'],
  inFlight: ['muster_lane_batches_in_flight', 'Lane batches that were sent and have not ended'],
  oldestSeconds: ['muster_lane_oldest_seconds', 'Age of the oldest lane batch that has not ended'],
  slots: ['muster_submitters', 'Submitters of the queuer'],
  taken: ['muster_submitters_taken', 'Submitters at work'],
  grants: ['muster_grants', 'Batches granted so far'],
} as const;

/**
 * The store's numbers as metrics of a registry; labels are handlers, flush reasons and states only.
 */
export class StoreMetrics {
  private readonly gauges: Record<keyof typeof PER_HANDLER, Gauge<'handler'>>;
  private readonly lanes: Record<keyof typeof OF_LANES, Gauge>;
  private readonly stalled: StalledGauges;
  private readonly paused: Gauge<'handler'>;
  private readonly mostQueued: Gauge<'handler'>;
  private readonly callbacks: Gauge<'state'>;
  private readonly nodes: Gauge<'handler'>;
  private readonly leaders: Gauge<'handler' | 'state'>;
  private readonly batches: Counter<'handler' | 'reason'>;
  private readonly failures: Counter;
  private readonly objects: Gauge;
  private readonly executions: ExecutionGauges;
  private readonly bulk: BulkGauges;
  private readonly partitions: PartitionGauges;
  private readonly transaction: TransactionGauge;
  private readonly clock: ClockGauge;
  private readAt = -Infinity;
  private reading: Promise<void> | null = null;
  private counted: number | null = null;
  /** The newest batch at earlier readings: what was there 5 s ago has committed. */
  private readonly newest: { id: number; at: number }[] = [];

  constructor(
    registry: Registry,
    private readonly options: {
      pool: Pool;
      sweepCounts?: Readonly<SweepCounts>;
      partitions?: { readonly size: number };
      /** Counters of this process, which begin for each handler of the store. */
      outcomeMeters?: Pick<OutcomeMeters, 'begin'> | undefined;
      log?: Logger;
    },
  ) {
    const registers = [registry];
    const gauge = (name: string, help: string): Gauge<'handler'> =>
      new Gauge({ name, help, labelNames: ['handler'], registers });
    this.gauges = Object.fromEntries(
      Object.entries(PER_HANDLER).map(([key, [name, help]]) => [key, gauge(name, help)]),
    ) as typeof this.gauges;
    this.lanes = Object.fromEntries(
      Object.entries(OF_LANES).map(([key, [name, help]]) => [key, new Gauge({ name, help, registers })]),
    ) as typeof this.lanes;
    this.executions = new ExecutionGauges(registry);
    this.bulk = new BulkGauges(registry);
    this.transaction = new TransactionGauge(registry);
    this.clock = new ClockGauge(registry);
    this.partitions = new PartitionGauges(registry, options.partitions);
    this.stalled = new StalledGauges(registry);
    this.paused = gauge('muster_handler_paused', '1: the handler is paused');
    this.mostQueued = gauge('muster_queue_limit', 'Tasks that may wait, after which submits are refused (maxQueued)');
    this.callbacks = new Gauge({
      name: 'muster_undelivered_callbacks',
      help: 'Callbacks that were tried and not delivered; at most 10,000 are counted',
      labelNames: ['state'],
      registers,
    });
    this.nodes = gauge('muster_nodes', 'Live worker processes that serve the handler');
    this.leaders = new Gauge({
      name: 'muster_leaders',
      help: 'Leaders by state',
      labelNames: ['handler', 'state'],
      registers,
    });
    this.batches = new Counter({
      name: 'muster_batches_total',
      help: 'Batches formed since this process started, by flush reason',
      labelNames: ['handler', 'reason'],
      registers,
    });
    this.failures = new Counter({
      name: 'muster_scrape_failures_total',
      help: 'Reads of the store that failed or timed out',
      registers,
    });
    this.objects = new Gauge({
      name: 'muster_unneeded_objects',
      help: 'Objects of the object store that are to be deleted; at most 100,000 are counted',
      registers,
    });
    const { sweepCounts } = options;
    if (sweepCounts !== undefined)
      addLiveGauge(
        registry,
        { name: 'muster_sweeper', help: 'What this process’s sweeper found since its start', label: 'found' },
        () => sweepCounts,
      );
  }

  /**
   * Reads the store, unless that was done within the last second. Never rejects, and does not wait
   * for long: old values are better than none, and what this process says of itself is due while
   * the store does not answer.
   */
  async refresh(): Promise<void> {
    if (performance.now() - this.readAt < CACHE_MS) return;
    this.reading ??= this.read().finally(() => (this.reading = null));
    await briefly(this.reading, LONGEST_REFRESH_MS);
  }

  private async read(): Promise<void> {
    try {
      await inTransaction(this.options.pool, async (client) => {
        await client.query(`set local statement_timeout = ${STATEMENT_TIMEOUT_MS}`);
        this.show(await store.readHandlerGauges(client), await store.readLeaderCounts(client));
        for (const { handler, n } of await store.readNodeCounts(client, NODE_LIVE_MS)) this.nodes.set({ handler }, n);
        const lanes = await store.readLaneGauges(client);
        for (const key of Object.keys(OF_LANES) as (keyof typeof OF_LANES)[]) this.lanes[key].set(lanes[key]);
        await this.stalled.read(client);
        await this.executions.read(client);
        await this.bulk.read(client);
        await this.transaction.read(client);
        await this.clock.read(client);
        await this.partitions.read(client);
        await this.countBatches(client);
        this.objects.set(await countDueObjects(client));
        const undelivered = await countUndelivered(client);
        for (const state of CALLBACK_STATES) this.callbacks.set({ state }, undelivered[state]);
      });
      this.readAt = performance.now();
    } catch (error) {
      this.failures.inc();
      this.options.log?.warn({ err: error }, 'metrics: the store was not read');
    }
  }

  private show(
    handlers: readonly store.HandlerGauges[],
    leaders: readonly { handler: string; state: number; n: number }[],
  ): void {
    for (const row of handlers) {
      const { handler } = row;
      this.options.outcomeMeters?.begin(handler);
      for (const key of Object.keys(PER_HANDLER) as (keyof typeof PER_HANDLER)[])
        this.gauges[key].set({ handler }, row[key]);
      this.paused.set({ handler }, row.paused ? 1 : 0);
      if (row.mostQueued === null) this.mostQueued.remove({ handler });
      else this.mostQueued.set({ handler }, row.mostQueued);
      for (const state of Object.keys(LEADER_STATES)) this.leaders.set({ handler, state }, 0);
    }
    for (const { handler, state, n } of leaders) this.leaders.set({ handler, state: leaderStateName(state) }, n);
  }

  private async countBatches(client: Client): Promise<void> {
    const now = performance.now();
    const last = await store.readLastBatch(client);
    this.counted ??= last;
    this.newest.push({ id: last, at: now });
    let upTo = this.counted;
    while (this.newest[0]!.at <= now - SETTLED_AFTER_MS) upTo = this.newest.shift()!.id;
    if (upTo <= this.counted) return;
    for (const { handler, reason, n } of await store.countReasons(client, this.counted, upTo))
      this.batches.inc({ handler, reason: flushReasonName(reason) }, n);
    this.counted = upTo;
  }
}
