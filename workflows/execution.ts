import {
  ActivityCancellationType,
  CancellationScope,
  condition,
  continueAsNew,
  proxyActivities,
  proxyLocalActivities,
  setHandler,
  setWorkflowOptions,
  sleep,
  workflowInfo,
} from '@temporalio/workflow';
import type { Activities } from '../activities';
import type { ExecutionInput, RollCallResponse, Seen } from './messages';
import { lookSignal } from './definitions';
import { showDetails } from './loops/details';
import { clearAlarm, setAlarm } from './loops/alarm';
import { upgradedWhileWaiting } from './versioning';
import { nodeTaskQueue } from './naming';
import { checkOwnScope } from './ownScope';
import { some } from './planning/webUi/some';
import { executionStart } from './planning/webUi/starts';
import { pendingOf } from './planning/executions/states';
import { roundPauseMs } from './planning/executions/turn';
import { StartLimits } from './loops/startLimits';

setWorkflowOptions(upgradedWhileWaiting, execution);

/**
 * A turn that is repeated finds what the first try has done. A turn hands out at most 50,000 items.
 */
const TURN = { startToCloseTimeout: '30s', retry: { initialInterval: '200ms', maximumInterval: '5s' } } as const;
const { rollCall } = proxyLocalActivities<Activities>({ ...TURN, summary: 'calls the roll' });
const { cancelExecution } = proxyLocalActivities<Activities>({ ...TURN, summary: 'cancels the execution' });

/** A chunk takes as long as its items do. A dead node is found by its missing heartbeats. */
const LONGEST_CHUNK = '30 days';

/**
 * Leads one execution to its end. The workflow id is the lock. The store knows the state of each
 * item; this workflow knows only which chunks are running and what it waits for.
 */
export async function execution({ executionId, resumeAfterMs = 0, turnsPerRun = 500 }: ExecutionInput): Promise<void> {
  checkOwnScope();
  const { cancelRequested } = CancellationScope.current();
  await CancellationScope.nonCancellable(async () => {
    const run = new ExecutionRun(executionId, turnsPerRun);
    setHandler(lookSignal, () => run.wake(), { description: 'There is something new in the store' });
    // An operator who cancels the run in the Web UI means the execution: if only the run ended,
    // another run would be started.
    cancelRequested.catch(() => run.cancel());
    // Nodes that were restarted at the same time get a moment to come back.
    if (resumeAfterMs > 0) await sleep(resumeAfterMs, { summary: 'start-up delay' });
    await run.run();
  });
}

class ExecutionRun {
  private readonly running = new Map<string, Promise<void>>();
  private readonly scope = new CancellationScope();
  private readonly startLimits = new StartLimits();
  private readonly undelivered: string[] = [];
  private turn = 0;
  /** How many changes there were, and how many of them before the last turn. */
  private changes = 0;
  private seen = 0;
  /** When the roll call ends; null: there is none. */
  private rollCallUntil: number | null = null;
  /**
   * When the next round may start, and how many rounds in a row had no result (-1: no round yet).
   */
  private planAt = 0;
  private fruitless = -1;
  private doneBefore = 0;
  /** Items have failed or were given back, so that a new round has something to do. */
  private pending = false;
  private over = false;
  private cancelled = false;

  constructor(
    private readonly executionId: string,
    private readonly turnsPerRun: number,
  ) {}

  wake(): void {
    this.changes++;
  }

  private get woken(): boolean {
    return this.changes > this.seen;
  }

  /** Cancels the execution, as its client does. */
  cancel(): void {
    this.cancelled = true;
    this.changes++;
  }

  async run(): Promise<void> {
    for (;;) {
      if (this.isLong() && this.running.size === 0)
        await continueAsNew<typeof execution>({ executionId: this.executionId, turnsPerRun: this.turnsPerRun });
      const before: Seen = { looks: this.changes, ended: this.undelivered.length };
      if (this.cancelled) await cancelExecution({ executionId: this.executionId });
      const response = await this.look(before);
      const { looks, ended } = response.seen ?? before;
      this.seen = looks;
      this.undelivered.splice(0, ended); // the turn was told of these
      if (response.next === 'over' || response.next === 'deposed') break;
      for (const chunk of response.chunks) this.start(chunk, response.settings.leaseMs);
      this.describe(response);
      if (response.next !== 'again') await this.wait(response);
      if (this.over) break;
    }
    // The execution has ended, was cancelled, or is led by another run: what still runs here no
    // longer counts.
    this.scope.cancel();
    await Promise.all(this.running.values());
  }

  private isLong(): boolean {
    return this.turnsPerRun <= this.turn || workflowInfo().continueAsNewSuggested;
  }

  private async look(seen: Seen): Promise<RollCallResponse> {
    const { runId, runStartTime } = workflowInfo();
    const mayPlan = Date.now() >= this.planAt && !this.isLong();
    const response = await rollCall({
      batch: true,
      executionId: this.executionId,
      runId,
      runStartedAtMs: runStartTime.getTime(),
      turn: ++this.turn,
      running: [...this.running.keys()],
      undelivered: [...this.undelivered],
      rollCallOver: this.rollCallUntil !== null && Date.now() >= this.rollCallUntil,
      mayPlan,
      seen,
    });
    const { counts, settings } = response;
    if (response.next !== 'roll-call') this.rollCallUntil = null;
    else this.rollCallUntil ??= Date.now() + settings.rollCallMs;
    this.pending = !response.planned && pendingOf(counts) > 0;
    if (response.planned) {
      this.fruitless = counts.done > this.doneBefore || this.fruitless < 0 ? 0 : this.fruitless + 1;
      this.doneBefore = counts.done;
      this.planAt = Date.now() + roundPauseMs(this.fruitless, settings.retryBaseMs, settings.requeueMs);
    }
    return response;
  }

  /**
   * Starts the activity of a chunk, on the task queue of its node's process. If the node is gone,
   * one of the timeouts fires, and a new round follows.
   */
  private start({ id, node, items }: RollCallResponse['chunks'][number], leaseMs: number): void {
    const startLimitMs = this.startLimits.of(node, leaseMs);
    const { workOrderBatch } = proxyActivities<Activities>({
      taskQueue: nodeTaskQueue(workflowInfo().taskQueue, node),
      startToCloseTimeout: LONGEST_CHUNK,
      scheduleToStartTimeout: startLimitMs,
      heartbeatTimeout: leaseMs,
      retry: { maximumAttempts: 1 },
      cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
      summary: `${some(items, 'item')} on ${node}`,
    });
    const taken = this.scope
      .run(() => workOrderBatch({ chunkId: id }))
      .then(({ pending, over }) => {
        if (over) this.over = true;
        if (pending > 0) this.pending = true;
      });
    const work = this.startLimits
      .watch(node, taken, startLimitMs)
      .catch(() => {
        // The chunk was never taken, or taken and lost. The next turn finds out which, and waits
        // for the end of a lost chunk's lease.
        this.undelivered.push(id);
        this.changes++;
      })
      .finally(() => {
        this.running.delete(id);
        if (this.running.size === 0) this.changes++;
      });
    this.running.set(id, work);
  }

  /**
   * Waits until something may have changed: by a signal, a lost chunk, the end of the last running
   * chunk, or at the time that this turn named.
   */
  private async wait(response: RollCallResponse): Promise<void> {
    const begunAt = Date.now();
    for (;;) {
      const dueMs = this.dueInMs(response, begunAt);
      if (dueMs !== null && dueMs <= 0) return;
      const { pending } = this;
      const changed = (): boolean => this.woken || this.over || this.pending !== pending;
      if (dueMs === null) await condition(changed);
      else if (!(await this.waitFor(dueMs, changed, response.next))) return;
      if (this.woken || this.over) return;
    }
  }

  /** False: it was too long. */
  private async waitFor(ms: number, changed: () => boolean, next: RollCallResponse['next']): Promise<boolean> {
    setAlarm(ms, null);
    const hasChanged = await condition(changed, ms, { summary: SUMMARIES[next] });
    clearAlarm();
    return hasChanged;
  }

  private dueInMs({ next, dueInMs, settings }: RollCallResponse, begunAt: number): number | null {
    const now = Date.now();
    if (next === 'no-nodes') return begunAt + settings.requeueMs - now;
    if (this.rollCallUntil !== null) return this.rollCallUntil - now;
    const times: number[] = [];
    if (dueInMs !== null) times.push(begunAt + dueInMs + 1 - now); // the lease of an earlier run's chunk ends then
    // Failed items wait for the pause between rounds, so that the next round takes all that have
    // come back by then.
    if (this.pending && !this.isLong()) times.push(this.planAt - now);
    // If nothing runs and nothing is due, look again after the requeue interval.
    if (times.length === 0 && this.running.size === 0) times.push(begunAt + settings.requeueMs - now);
    return times.length === 0 ? null : Math.min(...times);
  }

  private describe({ counts, round, note }: RollCallResponse): void {
    const { created, inProgress, done, failed, permanentlyFailed } = counts;
    showDetails(
      [
        `As of ${new Date().toISOString()}, round ${round}:`,
        `${done} done, ${permanentlyFailed} permanently failed, ${failed} failed, ${inProgress} in progress, ${created} created; ${this.running.size} chunks on nodes`,
        ...(note === null ? [] : [note]),
      ].join('\n\n'),
      executionStart(this.executionId),
    );
  }
}

const SUMMARIES: Readonly<Record<string, string>> = {
  'no-nodes': 'requeue interval',
  'roll-call': 'roll call',
  wait: 'pause before the next round',
};
