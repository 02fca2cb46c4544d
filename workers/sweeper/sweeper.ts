import type { Logger } from 'pino';
import type { NodeSettings } from '../../activities/nodes/settings';
import type { ReleaseDeps } from '../../activities/grouping/dependents';
import { ENDED_BUDGET_MS, releaseDependents } from '../../activities/grouping/dependents';
import { ring } from '../../activities/grouping/ring';
import { EndedLimits } from '../../activities/limits/endedLimits';
import { ringServed } from '../../activities/nodes/served';
import { releaseTargets } from '../../postgres/calls/batch';
import { countNotedEnds } from '../../postgres/outcomes/uncounted';
import { markForgottenLanes } from '../../postgres/lanes/queue';
import type { Pool } from '../../postgres/pool';
import type { ReapIntervals } from '../../postgres/fanouts/reap';
import * as sweep from '../../postgres/sweeper/sweep';
import { WAKE_DEADLINE_MS } from '../../workflows/temporal/requests';
import { BulkActions } from '../bulk/bulkActions';
import type { ChangingDeps } from '../bulk/context';
import { endExpired } from '../bulk/expiries';
import { Cleaning } from './cleaning';
import { DelayedTargets } from './delayed/delayedTargets';
import { EndedMonitors } from './endedMonitors';
import { ExecutionSweep } from './executions';
import { Expired } from './expired';
import { FanoutReaper } from './fanoutReaper';
import { SweeperLease } from './lease/sweeperLease';
import { LostPartitions } from './lostPartitions';
import { pages } from './pages';
import { OverdueWakes } from './overdueWakes';
import { Pace } from './backOff';
import { sampleOf } from './sample';
import { SilentRuns } from './silentRuns';
import { StuckRuns } from './stuckRuns';
import { SubmitListener } from '../submits/listener';
import { noCounts } from './counts';

/**
 * The safety net under the ring protocol: finds what a lost ring, a dead client or a dead leader
 * left behind, and rings it.
 *
 * A timer loop in every worker, one at a time working under a lease; not a workflow: a workflow
 * that waits without end and looks every two seconds costs two Temporal actions per round, grows a
 * history, and keeps a time-skipping server from skipping. It needs no fencing either: all it does
 * is lower due times, wake, and delete what has ended, which is safe to do concurrently.
 */
export interface SweeperOptions extends ReleaseDeps, ChangingDeps {
  /** Id of this worker process: the lease's holder. */
  node: string;
  /** Lease of the leaders that it wakes. */
  leaseMs: number;
  log: Logger;
  /** How long outcomes per minute are kept; default 7 days. */
  keepOutcomesMs?: number | undefined;
  /** Ms from one round's start to the next. Default: `ROUND_MS`. */
  everyMs?: number;
  /** Deletes about `limit` expired tasks and returns how many. Default: `Retention`. */
  deleteExpired?: (pool: Pool, limit: number) => Promise<number>;
  executions?: { startupDelayMs: number; retentionMs?: number };
  nodes?: Pick<NodeSettings, 'leaseMs' | 'shutdownLimitMs'>;
  /** When fan-outs are given up and deleted. Default: `DEFAULT_REAP`. */
  fanouts?: ReapIntervals | undefined;
  /** When a run that makes no progress is begun anew. Default: `STUCK_LIMITS`. */
  stuck?: ConstructorParameters<typeof StuckRuns>[0]['stuck'];
}

/** From one round's start to the next, where nothing else is set. */
export const ROUND_MS = 2_000;
const PAGE = 5_000;
/**
 * Newest tasks looked at per round, and how far back (these, and delayed ones that became due):
 * longer than most transactions are open.
 */
const RECENT = 10_000;
const RECENT_MS = 20_000;
/**
 * Longest that one round reads open batches, leaders, delayed tasks; the next round goes on where
 * it stopped. Queued ones: `Pace`.
 */
const OTHER_BUDGET_MS = 50;
/** Targets in one ring, and of those due later so many per round, to see whether they filled up. */
const RING = 500;
const SAMPLE = 200;

export class Sweeper {
  readonly counts = noCounts();
  private readonly lease: SweeperLease;
  private timer: NodeJS.Timeout | undefined;
  private running: Promise<void> = Promise.resolve();
  private stopped = true;
  private readonly recent: { newestSeq: number; at: number }[] = [];
  private queued = 0;
  private leaders = 0;
  private batches = { leaderId: 0, id: 0 };
  private stranded = 0;
  private readonly pace: Pace;
  private readonly executions: ExecutionSweep;
  /** Failing steps, logged once per outage and not once per round. */
  private readonly failing = new Set<string>();
  private readonly cleaning: Cleaning;
  private readonly bulk: BulkActions;
  private readonly silent: SilentRuns;
  private readonly stuck: StuckRuns;
  private readonly overdue: OverdueWakes;
  private readonly delayed: DelayedTargets;
  private readonly endedMonitors: EndedMonitors;
  private readonly expired: Expired;
  private readonly fanouts: FanoutReaper;
  private readonly lost: LostPartitions;
  private readonly limits: EndedLimits;
  private readonly submits: SubmitListener;

  constructor(private readonly options: SweeperOptions) {
    this.lease = new SweeperLease(options);
    this.cleaning = new Cleaning(options);
    this.bulk = new BulkActions(options);
    this.silent = new SilentRuns(options);
    this.stuck = new StuckRuns({ ...options, contact: this.lease.contact });
    this.overdue = new OverdueWakes(options, this.silent, this.counts);
    this.delayed = new DelayedTargets({
      ...{ pool: options.pool, recentMs: RECENT_MS, budgetMs: OTHER_BUDGET_MS, page: PAGE },
      ring: (ids) => this.ringForgotten(ids),
    });
    this.endedMonitors = new EndedMonitors(options);
    this.expired = new Expired(options, this.counts);
    this.lost = new LostPartitions(options);
    this.limits = new EndedLimits(options);
    const wakes = { release: () => releaseDependents(options), ring: (ids: readonly number[]) => this.ring(ids) };
    this.submits = new SubmitListener({ ...options, ...wakes });
    this.fanouts = new FanoutReaper(options.pool, options.fanouts);
    this.pace = new Pace(options.everyMs ?? ROUND_MS);
    this.executions = new ExecutionSweep(options, options.executions);
  }

  start(): void {
    this.stopped = false;
    this.next(0);
  }

  /** Ends the round and gives up the lease. */
  async stop(): Promise<void> {
    this.stopped = true;
    clearTimeout(this.timer);
    const cleaned = this.cleaning.stop();
    await Promise.all([this.running, this.bulk.stop()]);
    await this.submits.close();
    await this.lease.release(); // a deletion may take long, and keeps no other process from sweeping
    await cleaned;
  }

  private next(inMs: number): void {
    if (this.stopped) return;
    const run = (): void => void (this.running = this.round().finally(() => this.next(this.pauseMs())));
    this.timer = setTimeout(run, inMs).unref();
  }

  private pauseMs(): number {
    return this.lease.isHeld ? this.pace.pauseMs(this.queued === 0) : (this.options.everyMs ?? ROUND_MS);
  }

  /** Runs one round. Never rejects: a step that fails is logged, and the next round repeats it. */
  private async round(): Promise<void> {
    let isOthers = false;
    await this.step('lease', async () => {
      isOthers = !(await this.lease.acquire());
    });
    if (isOthers) this.bulk.begin(this.counts, false);
    if (isOthers) this.silent.forget();
    if (isOthers) await this.step('ended limits', () => this.limits.wakeAll());
    if (!this.lease.isHeld) return this.submits.close();
    this.counts.rounds++;
    await this.step('submits by SQL', () => this.submits.listen());
    await this.step('expired leaders', () => this.wakeExpired());
    await this.step('lost dispatches', () => this.wakeForLostDispatches());
    await this.step('ended dependencies', () => releaseDependents(this.options, ENDED_BUDGET_MS));
    await this.step('expired tasks', () => endExpired(this.options, this.counts));
    await this.step('noted ends', () => countNotedEnds(this.options.pool));
    await this.step('ended limits', () => this.limits.look());
    await this.step('recent tasks', () => this.sweepRecent());
    await this.step('queued targets', () => this.sweepQueued());
    await this.step('delayed targets', () => this.delayed.look());
    await this.step('leaders', () => this.sweepLeaders());
    await this.step('open batches', () => this.sweepBatches());
    await this.step('notifications', () => this.overdue.wakeNotifier());
    await this.step('accepted batches', () => this.overdue.wakeMonitors());
    await this.step('work that waited for a node', () => ringServed(this.options));
    await this.step('queuers', () => this.wakeQueuers());
    await this.step('partitions', async () => this.silent.noteBalancer(await this.lost.look(this.counts)));
    await this.step('executions', async () => {
      const { woken, resumeAfterMs } = await this.executions.round();
      await this.silent.noteExecutions(woken, resumeAfterMs);
    });
    await this.step('stuck runs', async () => this.stuck.look(await this.silent.list(), this.counts));
    await this.step('ended monitors', () => this.endedMonitors.look(this.counts));
    this.bulk.begin(this.counts);
    this.cleaning.begin(this.counts);
    await this.step('fan-outs', () => this.fanouts.look(this.counts));
    await this.step('ended executions', () => this.executions.reap(this.counts));
  }

  private async step(name: string, work: () => Promise<void>): Promise<void> {
    try {
      // Temporal may hang: the other steps have their turn.
      await this.options.requests.temporal.withDeadline(Date.now() + WAKE_DEADLINE_MS, work);
      this.failing.delete(name);
    } catch (error) {
      this.counts.failures++;
      if (!this.failing.has(name)) this.options.log.warn({ err: error, step: name }, 'sweeper: a step failed');
      this.failing.add(name);
    }
  }

  private async wakeExpired(): Promise<void> {
    const { length } = await this.expired.wakeLeaders();
    this.counts.expiredLeaders += length;
    if (length > 0) this.options.log.info({ leaders: length }, 'sweeper: woke leaders whose lease had expired');
  }

  private async wakeForLostDispatches(): Promise<void> {
    const { length } = await this.expired.wakeForLostDispatches();
    this.counts.lostDispatches += length;
    if (length > 0)
      this.options.log.info({ leaders: length }, 'sweeper: woke leaders whose dispatch sent no heartbeat');
  }

  /**
   * Looks at the newest tasks, and at those of the last rounds once more: transactions commit out
   * of order.
   */
  private async sweepRecent(): Promise<void> {
    const page = await sweep.sweepRecent(this.options.pool, this.recent[0]?.newestSeq ?? 0, RECENT);
    this.recent.push({ newestSeq: page.newestSeq, at: performance.now() });
    while (performance.now() - this.recent[0]!.at > RECENT_MS) this.recent.shift();
    await this.ringForgotten(page.forgotten);
  }

  private async sweepQueued(): Promise<void> {
    const later: number[] = [];
    const startedAt = performance.now();
    if (this.queued === 0) this.pace.begin();
    await pages(this.pace.budgetMs(), async () => {
      const page = await sweep.sweepQueued(this.options.pool, this.queued, PAGE);
      await this.ringForgotten(page.forgotten);
      later.push(...page.later);
      this.queued = page.next ?? 0;
      return page.next !== null;
    });
    const isOver = this.queued === 0;
    this.pace.took(performance.now() - startedAt, isOver);
    if (isOver) this.counts.cycles++;
    // These targets are not forgotten, but may be full by now. Rings only a sample: a backlog with
    // a long linger would otherwise cost one ring per target and round.
    await this.ring(sampleOf(later, SAMPLE));
  }

  private async sweepLeaders(): Promise<void> {
    await pages(OTHER_BUDGET_MS, async () => {
      const page = await sweep.sweepLeaders(this.options.pool, this.leaders, PAGE);
      this.counts.idleLeaders += page.due.length;
      await this.ring(page.due);
      const released = await releaseTargets(this.options.pool, page.busy);
      this.counts.stuckTargets += released.length;
      await this.ring(released);
      this.leaders = page.next ?? 0;
      return page.next !== null;
    });
  }

  private async sweepBatches(): Promise<void> {
    await pages(OTHER_BUDGET_MS, async () => {
      const page = await sweep.sweepBatches(this.options.pool, this.batches, PAGE);
      await this.ringForgotten(page.forgotten);
      this.stranded += page.stranded.length;
      if (page.stranded.length > 0)
        this.options.log.error({ batches: page.stranded }, 'refused halves wait for halves that have ended');
      if (page.next === null) {
        this.counts.strandedHalves = this.stranded;
        this.stranded = 0;
      }
      this.batches = page.next ?? { leaderId: 0, id: 0 };
      return page.next !== null;
    });
  }

  private async ringForgotten(targetIds: readonly number[]): Promise<void> {
    if (targetIds.length === 0) return;
    this.counts.forgottenTargets += targetIds.length;
    this.options.log.info({ targets: targetIds.length }, 'sweeper: rang targets that had work and no due time');
    await this.ring(targetIds);
  }

  private async ring(targetIds: readonly number[]): Promise<void> {
    for (let i = 0; i < targetIds.length; i += RING) await ring(this.options, targetIds.slice(i, i + RING));
  }

  private async wakeQueuers(): Promise<void> {
    this.counts.forgottenLanes += await markForgottenLanes(this.options.pool, RING);
    this.counts.queuerWakes += (await this.expired.wakeQueuers()).length;
  }
}
