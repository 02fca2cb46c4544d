import {
  ActivityCancellationType,
  continueAsNew,
  makeContinueAsNewFunc,
  proxyActivities,
  proxyLocalActivities,
  setHandler,
  setWorkflowOptions,
  workflowInfo,
} from '@temporalio/workflow';
import type { Activities } from '../activities';
import type { GrantAnswer, QueuerInput } from './messages';
import { lookSignal, queuerStatusQuery } from './definitions';
import { showDetails } from './loops/details';
import type { QueuerStatus } from './definitions';
import { upgradedWhileWaiting } from './versioning';
import { handlerTaskQueue, nodeTaskQueue } from './naming';
import { some } from './planning/webUi/some';
import { queuerStart } from './planning/webUi/starts';
import { START_LIMIT_MS } from './planning/startLimit';
import { USUAL } from './priorities';
import type { Turn } from './loops/turnLoop';
import { MOST_EVENTS, dispatchLimitMs, TurnLoop, TURNS_PER_RUN } from './loops/turnLoop';

setWorkflowOptions(upgradedWhileWaiting, queuer);

/** The options are those of a leader's claims. */
const { grantLanes } = proxyLocalActivities<Activities>({
  startToCloseTimeout: '30s',
  retry: { initialInterval: '100ms', maximumInterval: '5s' },
  summary: 'grants lanes',
});

const HEARTBEAT = '5s';

/**
 * Grants the submitters of a queuer to its lanes, many per turn. A submitter that becomes free
 * fetches its next batch by itself. The workflow id is the lock. The history grows with submitters,
 * never with batches.
 */
export async function queuer(input: QueuerInput): Promise<void> {
  const run = new QueuerRun(input);
  setHandler(lookSignal, () => run.look(), { description: 'A lane has something to send' });
  setHandler(queuerStatusQuery, () => run.status());
  await run.lead(0);
}

class QueuerRun extends TurnLoop<GrantAnswer> {
  private batches = 0;
  private last: GrantAnswer | null = null;

  constructor(private readonly input: QueuerInput) {
    super(input.turnsPerRun ?? TURNS_PER_RUN, input.mostEvents ?? MOST_EVENTS, 'next lane due', null);
  }

  /** Continues as new on the current version, as a leader does. */
  protected continueAsNew(): Promise<never> {
    if (!workflowInfo().targetWorkerDeploymentVersionChanged) return continueAsNew<typeof queuer>(this.input);
    return makeContinueAsNewFunc<typeof queuer>({ initialVersioningBehavior: 'AUTO_UPGRADE' })(this.input);
  }

  protected async takeTurn(turn: Turn): Promise<GrantAnswer> {
    const answer = await grantLanes({ queuerId: this.input.queuerId, ...turn });
    if (answer.deposed || answer.foreign === true) return answer;
    this.last = answer;
    for (const submitter of answer.submitters) this.start(submitter, answer.epoch);
    this.describe();
    return answer;
  }

  private start(
    { no, handler, slots, batches, callTimeoutMs, serving, startLimitMs }: GrantAnswer['submitters'][number],
    epoch: number,
  ): void {
    const { taskQueue } = workflowInfo();
    const { submitBatches } = proxyActivities<Activities>({
      taskQueue: serving === undefined ? handlerTaskQueue(taskQueue, handler) : nodeTaskQueue(taskQueue, serving.node),
      // If no worker starts the submitter in time, its batches are taken back; their first lease is
      // longer than this.
      scheduleToStartTimeout: startLimitMs ?? serving?.leaseMs ?? START_LIMIT_MS,
      startToCloseTimeout: dispatchLimitMs(callTimeoutMs),
      heartbeatTimeout: HEARTBEAT,
      priority: USUAL,
      retry: { maximumAttempts: 1 }, // the next turn recovers what it left
      cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
      summary: `${some(slots, 'submitter')}, ${some(batches, 'batch')} to begin with`,
    });
    const { queuerId } = this.input;
    const { turn } = this;
    this.track(
      no,
      submitBatches({ leaderId: 0, handler, epoch, no, slots, queuerId }).then((answer) => {
        this.batches += answer.batches;
        if (answer.released) this.stepDown(turn);
      }),
    );
  }

  status(): QueuerStatus {
    return {
      epoch: this.last?.epoch ?? 0,
      turn: this.turn,
      submitters: this.live.size,
      batches: this.batches,
      waitingMs: this.waitingMs,
      heldBy: this.last?.heldBy ?? null,
    };
  }

  protected describe(): void {
    const last = this.last;
    if (last === null) return;
    const next = last.next === 'waiting' && last.dueInMs !== null ? `looks again in ${last.dueInMs} ms` : last.next;
    showDetails(
      [
        `**Queuer** of partition ${this.input.queuerId}, as of ${new Date().toISOString()}`,
        '',
        `- epoch ${last.epoch}, turn ${this.turn}; ${next}${last.heldBy === null ? '' : `, held by: ${last.heldBy}`}`,
        `- submitting activities: ${this.live.size}; batches of this run: ${this.batches}`,
      ].join('\n'),
      queuerStart(this.input.queuerId),
    );
  }
}
