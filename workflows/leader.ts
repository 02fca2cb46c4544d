import {
  ActivityCancellationType,
  ApplicationFailure,
  condition,
  continueAsNew,
  makeContinueAsNewFunc,
  proxyActivities,
  proxyLocalActivities,
  setCurrentDetails,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import type { Activities } from '../activities';
import type { DispatchAnswer, LeaderInput, TurnAnswer } from './contracts';
import { leaderStatusQuery, lookSignal } from './definitions';
import { handlerTaskQueue } from './naming';

/** Claims are a few statements; a lock is waited for 10 s at most. Retried without end: nothing else can be done while the store is away. */
const { claimBatches } = proxyLocalActivities<Activities>({
  startToCloseTimeout: '30s',
  retry: { initialInterval: '100ms', maximumInterval: '5s' },
});

/** Calls in flight at the soft deadline may still take a handler's timeout; a handler's own limit is an hour at most. */
const SUBMISSION_LIMIT = '65 minutes';
/** Without a sign of life for this long, the submission's process is dead. */
const HEARTBEAT = '10s';

/**
 * Leads a set of targets of one handler (DESIGN section 4.3): looks (a turn), starts a submission for what was claimed, waits until woken,
 * until a submission ends, or until the next batch is due; ends when nothing is left. Its workflow id is the lock; its history grows with
 * batches, never with tasks.
 */
export async function leader(input: LeaderInput): Promise<void> {
  const run = new LeaderRun(input);
  setHandler(lookSignal, () => run.look(), { description: 'Work of this leader is due earlier than it knows' });
  setHandler(leaderStatusQuery, () => run.status());
  await run.lead();
}

class LeaderRun {
  /** Wakes so far, and how many of them the last turn knew of. */
  private looks = 0;
  private looked = 0;
  private turn = 0;
  private readonly live = new Map<number, DispatchAnswer | null>();
  private ended = 0;
  private batches = 0;
  private tasks = 0;
  private last: TurnAnswer | null = null;
  private waitingMs: number | null = null;
  private readonly turnsPerRun: number;

  constructor(private readonly input: LeaderInput) {
    this.turnsPerRun = input.turnsPerRun ?? 500;
  }

  look(): void {
    this.looks++;
  }

  private get woken(): boolean {
    return this.looks > this.looked;
  }

  async lead(): Promise<void> {
    // Started for work that lies ahead: the wake wrote the leader as waiting till then, so there is nothing to look at before.
    // The signal that came with the start said the same; a second one means that something is due earlier.
    if ((this.input.dueInMs ?? 0) > 0) {
      this.looked = 1;
      await this.wait(this.input.dueInMs);
    }
    for (;;) {
      const draining = this.isDraining();
      // Before any local activity of this workflow task, and with nothing in flight: a closed run's activities are aborted (DESIGN section 4.3).
      if (draining && this.live.size === 0) await this.continueAsNew();
      this.looked = this.looks;
      const { ended } = this; // as it was before: a submission may end while a slow turn is taken, and is not to be waited for then
      const answer = await this.takeTurn(!draining);
      if (answer.again && !draining) continue;
      if (answer.next === 'idle' && !this.woken && this.live.size === 0 && !answer.again) return;
      if (this.woken) continue;
      if (await this.waitIsOver(answer, ended)) return;
    }
  }

  /** A new version became the current one: this run hands over as soon as nothing is in flight (DESIGN section 4, versions). */
  private isDraining(): boolean {
    const { continueAsNewSuggested, targetWorkerDeploymentVersionChanged } = workflowInfo();
    return this.turn >= this.turnsPerRun || continueAsNewSuggested || targetWorkerDeploymentVersionChanged;
  }

  /** The next run begins on the current version. A server refuses a behaviour from a worker that is not versioned. */
  private async continueAsNew(): Promise<never> {
    const input = { ...this.input, dueInMs: 0 };
    if (!workflowInfo().targetWorkerDeploymentVersionChanged) return continueAsNew<typeof leader>(input);
    return makeContinueAsNewFunc<typeof leader>({ initialVersioningBehavior: 'AUTO_UPGRADE' })(input);
  }

  private async takeTurn(mayClaim: boolean): Promise<TurnAnswer> {
    const { runId, startTime } = workflowInfo();
    const answer = await claimBatches({
      leaderId: this.input.leaderId,
      runId,
      runStartedAtMs: startTime.getTime(),
      turn: ++this.turn,
      live: [...this.live.keys()],
      mayClaim,
    });
    if (answer.deposed)
      throw ApplicationFailure.create({
        type: 'Deposed',
        message: `a later run leads (epoch ${answer.epoch})`,
        nonRetryable: true,
      });
    this.last = answer;
    if (answer.dispatch !== null) this.start(answer.dispatch, answer.epoch);
    this.describe();
    return answer;
  }

  private start(dispatch: NonNullable<TurnAnswer['dispatch']>, epoch: number): void {
    const { leaderId, handler } = this.input;
    const { submitBatches } = proxyActivities<Activities>({
      taskQueue: handlerTaskQueue(workflowInfo().taskQueue, handler),
      startToCloseTimeout: SUBMISSION_LIMIT,
      heartbeatTimeout: HEARTBEAT,
      // Its batches' outcomes are in the store: another attempt would only repeat the reading. The next turn adopts what is left.
      retry: { maximumAttempts: 1 },
      cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
      summary: `${dispatch.batches} batches, ${dispatch.tasks} tasks`,
    });
    this.live.set(dispatch.no, null);
    const { turn } = this;
    submitBatches({ leaderId, handler, epoch, no: dispatch.no, slots: dispatch.slots })
      .then(
        (answer) => {
          this.batches += answer.batches;
          this.tasks += answer.tasks;
          // It stepped down for the turn that started it. A turn since (a late wake, for nothing) has published anew, and is to be taken back by another.
          if (answer.released && !this.woken && turn === this.turn) this.released = true;
        },
        () => undefined, // a died or refused submission: the next turn adopts its batches
      )
      .finally(() => {
        this.live.delete(dispatch.no);
        this.ended++;
      });
  }
  private released = false;

  /** True: the run may end (its only submission stepped down for it, and nobody woke it since). */
  private async waitIsOver(answer: TurnAnswer, ended: number): Promise<boolean> {
    this.released = false;
    const changed = (): boolean => this.woken || this.ended > ended;
    if (answer.next === 'waiting' && answer.dueInMs !== null) await this.wait(answer.dueInMs, changed);
    else await condition(changed);
    return this.released && !this.woken && this.live.size === 0;
  }

  private async wait(ms: number, until: () => boolean = () => this.woken): Promise<void> {
    this.waitingMs = ms;
    await condition(until, ms, { summary: 'next batch due' });
    this.waitingMs = null;
  }

  status(): ReturnType<typeof this.statusOf> {
    return this.statusOf();
  }
  private statusOf() {
    return {
      epoch: this.last?.epoch ?? 0,
      turn: this.turn,
      submissions: this.live.size,
      batches: this.batches,
      tasks: this.tasks,
      waitingMs: this.waitingMs,
      lastReason: this.last?.lastReason ?? null,
      heldBy: this.last?.heldBy ?? null,
    };
  }

  /** Free of actions: what the Web UI shows of this leader, as of its last turn. */
  private describe(): void {
    const { handler, name } = this.input;
    const last = this.last;
    if (last === null) return;
    const next = last.next === 'waiting' && last.dueInMs !== null ? `looks again in ${last.dueInMs} ms` : last.next;
    setCurrentDetails(
      [
        `**${handler}**, set \`${name}\`, as of ${new Date().toISOString()}`,
        `- epoch ${last.epoch}, turn ${this.turn}; ${next}${last.heldBy === null ? '' : `, held by ${last.heldBy}`}`,
        `- in flight: ${this.live.size} submissions${last.dispatch === null ? '' : ` (last: ${last.dispatch.batches} batches, ${last.dispatch.tasks} tasks)`}`,
        `- this run: ${this.batches} batches, ${this.tasks} tasks; last flush reason: ${last.lastReason ?? 'none'}`,
      ].join('\n'),
    );
  }
}
