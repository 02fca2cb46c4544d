import {
  ActivityCancellationType,
  continueAsNew,
  makeContinueAsNewFunc,
  proxyActivities,
  proxyLocalActivities,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import type { Activities } from '../activities';
import type { LeaderInput, TurnAnswer } from './messages';
import { leaderStatusQuery, lookSignal } from './definitions';
import { showDetails } from './loops/details';
import { handlerTaskQueue, nodeTaskQueue } from './naming';
import type { Backlog } from './planning/grouping/leaderDetails';
import { leaderDetails } from './planning/grouping/leaderDetails';
import { some } from './planning/webUi/some';
import { leaderStart } from './planning/webUi/starts';
import { StartLimits } from './loops/startLimits';
import type { Turn } from './loops/turnLoop';
import { MOST_EVENTS, dispatchLimitMs, TurnLoop, TURNS_PER_RUN } from './loops/turnLoop';

/**
 * A claim takes a few statements, which wait for a lock for 10 s at most. It is retried without
 * end: nothing else can be done while the store is unavailable.
 */
const { claimBatches } = proxyLocalActivities<Activities>({
  startToCloseTimeout: '30s',
  retry: { initialInterval: '100ms', maximumInterval: '5s' },
  summary: 'claims batches',
});

/** Time without a heartbeat after which the process of a dispatch counts as dead. */
const HEARTBEAT = '10s';

/**
 * Least time between two counts of the backlog, which is shown in the Web UI and not needed in
 * every turn.
 */
const COUNT_EVERY_MS = 5_000;

/**
 * Leads a set of targets of one handler. It takes a turn, starts a dispatch for the claimed
 * batches, and waits until it is woken, until a dispatch ends, or until the next batch is due. It
 * ends when nothing is left. The workflow id is the lock. The history grows with dispatches, never
 * with tasks.
 */
export async function leader(input: LeaderInput): Promise<void> {
  const run = new LeaderRun(input);
  setHandler(lookSignal, () => run.look(), { description: 'Work of this leader is due earlier than it knows' });
  setHandler(leaderStatusQuery, () => run.status());
  await run.lead(input.dueInMs ?? 0);
}

class LeaderRun extends TurnLoop<TurnAnswer> {
  private batches = 0;
  private tasks = 0;
  private last: TurnAnswer | null = null;
  private lastAtMs = 0;
  private lastReason: string | null = null;
  private backlog: (Backlog & { atMs: number }) | null = null;
  private readonly startLimits = new StartLimits();

  constructor(private readonly input: LeaderInput) {
    super(input.turnsPerRun ?? TURNS_PER_RUN, input.mostEvents ?? MOST_EVENTS, 'next batch due', input.handler);
  }

  /**
   * Continues as new on the current version. A server refuses a versioning behaviour from a worker
   * that is not versioned.
   */
  protected continueAsNew(): Promise<never> {
    const input = { ...this.input, dueInMs: 0 };
    if (!workflowInfo().targetWorkerDeploymentVersionChanged) return continueAsNew<typeof leader>(input);
    return makeContinueAsNewFunc<typeof leader>({ initialVersioningBehavior: 'AUTO_UPGRADE' })(input);
  }

  protected async takeTurn(turn: Turn): Promise<TurnAnswer> {
    const backlog = this.backlog === null || Date.now() - this.backlog.atMs >= COUNT_EVERY_MS;
    const { leaderId, handler, name, installation } = this.input;
    const who = { leaderId, handler, name, installation };
    const answer = await claimBatches({ ...who, ...turn, ...(backlog ? { backlog } : {}) });
    if (answer.deposed || answer.foreign === true) return answer;
    this.last = answer;
    this.lastAtMs = Date.now();
    this.lastReason = answer.lastReason ?? this.lastReason;
    if (answer.backlog !== undefined) this.backlog = { ...answer.backlog, atMs: this.lastAtMs };
    if (answer.dispatch !== null) this.start(answer.dispatch, answer.epoch);
    this.describe();
    return answer;
  }

  private start(dispatch: NonNullable<TurnAnswer['dispatch']>, epoch: number): void {
    const { leaderId, handler } = this.input;
    const { taskQueue } = workflowInfo();
    const { serving } = dispatch;
    const startLimitMs = serving === undefined ? 0 : this.startLimits.of(serving.node, serving.leaseMs);
    const { submitBatches } = proxyActivities<Activities>({
      startToCloseTimeout: dispatchLimitMs(dispatch.callTimeoutMs),
      ...(serving === undefined
        ? { taskQueue: handlerTaskQueue(taskQueue, handler), heartbeatTimeout: HEARTBEAT }
        : {
            // The node may be gone, or stopped with its poll open. The dispatch is then given up
            // after the start limit, and the next turn reads which node holds the partition.
            taskQueue: nodeTaskQueue(taskQueue, serving.node),
            scheduleToStartTimeout: startLimitMs,
            heartbeatTimeout: serving.leaseMs,
          }),
      // There is no second attempt: the outcomes of the batches are in the store, and the next turn
      // adopts the batches that are left.
      retry: { maximumAttempts: 1 },
      cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
      summary: `${some(dispatch.batches, 'batch')}, ${some(dispatch.tasks, 'task')}`,
    });
    const { turn } = this;
    const work = submitBatches({
      leaderId,
      handler,
      epoch,
      no: dispatch.no,
      slots: dispatch.slots,
      ...(serving === undefined ? {} : { partition: { id: serving.id, epoch: serving.epoch } }),
    }).then((answer) => {
      this.batches += answer.batches;
      this.tasks += answer.tasks;
      if (answer.released) this.stepDown(turn);
    });
    this.track(dispatch.no, serving === undefined ? work : this.startLimits.watch(serving.node, work, startLimitMs));
  }

  status(): ReturnType<typeof this.statusOf> {
    return this.statusOf();
  }
  private statusOf() {
    return {
      epoch: this.last?.epoch ?? 0,
      turn: this.turn,
      dispatches: this.live.size,
      batches: this.batches,
      tasks: this.tasks,
      waitingMs: this.waitingMs,
      lastReason: this.lastReason,
      heldBy: this.last?.heldBy ?? null,
    };
  }

  protected describe(): void {
    const { handler, name } = this.input;
    const { live, turn, batches, tasks, last, lastReason, backlog } = this;
    if (last === null) return;
    const { epoch, heldBy, dispatch } = last;
    const next = this.isOver ? 'idle' : last.next;
    const nowMs = Date.now();
    const dueAtMs = last.dueInMs === null ? null : this.lastAtMs + last.dueInMs;
    showDetails(
      leaderDetails({
        handler,
        name,
        nowMs,
        epoch,
        turn,
        next,
        dueAtMs,
        heldBy,
        live: live.size,
        dispatch,
        backlog,
        batches,
        tasks,
        lastReason,
      }),
      leaderStart(this.input),
    );
  }
}
