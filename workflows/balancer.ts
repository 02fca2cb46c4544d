import {
  continueAsNew,
  makeContinueAsNewFunc,
  proxyLocalActivities,
  setHandler,
  setWorkflowOptions,
  workflowInfo,
} from '@temporalio/workflow';
import type { Activities } from '../activities';
import type { BalanceAnswer, BalancerInput, Seen } from './messages';
import { balancerStatusQuery, lookSignal } from './definitions';
import { showDetails } from './loops/details';
import type { BalancerStatus } from './definitions';
import { balancerDetails } from './planning/nodes/details';
import { balancerStart } from './planning/webUi/starts';
import { upgradedWhileWaiting } from './versioning';
import type { Turn } from './loops/turnLoop';
import { MOST_EVENTS, TurnLoop, TURNS_PER_RUN } from './loops/turnLoop';

setWorkflowOptions(upgradedWhileWaiting, balancer);

/** The options are those of a leader's claims. */
const { balancePartitions } = proxyLocalActivities<Activities>({
  startToCloseTimeout: '30s',
  retry: { initialInterval: '100ms', maximumInterval: '5s' },
  summary: 'a round',
});

/** The answer of a round, as the loop of turns needs it. */
interface Round {
  deposed: false;
  epoch: number;
  again: boolean;
  next: 'idle' | 'waiting';
  dueInMs: number | null;
  seen: Seen | undefined;
}

/**
 * Spreads partitions over nodes. A round revokes the partitions that are to move, and assigns those
 * that no node holds. The balancer then waits until a node has given a partition up, or the time to
 * do so has passed. It ends when nothing is left to move, and costs nothing then: a node that
 * joins, leaves, gives up a partition or finds another node silent wakes it again. Any worker may
 * run its rounds. The workflow id is the lock.
 */
export async function balancer(input: BalancerInput): Promise<void> {
  const run = new BalancerRun(input);
  setHandler(lookSignal, () => run.look(), { description: 'A node came or went, or a partition was given up' });
  setHandler(balancerStatusQuery, () => run.status());
  await run.lead(0);
}

class BalancerRun extends TurnLoop<Round> {
  private last: BalanceAnswer | null = null;
  private moves = 0;

  constructor(private readonly input: BalancerInput) {
    super(input.turnsPerRun ?? TURNS_PER_RUN, MOST_EVENTS, 'next round', null);
  }

  protected continueAsNew(): Promise<never> {
    const { input } = this;
    if (!workflowInfo().targetWorkerDeploymentVersionChanged) return continueAsNew<typeof balancer>(input);
    return makeContinueAsNewFunc<typeof balancer>({ initialVersioningBehavior: 'AUTO_UPGRADE' })(input);
  }

  protected async takeTurn({ runId, turn, seen: before }: Turn): Promise<Round> {
    const answer = await balancePartitions({ runId, turn, ...(before === undefined ? {} : { seen: before }) });
    this.last = answer;
    this.moves += answer.moved;
    this.describe();
    const { epoch, dueInMs, seen } = answer;
    const next = dueInMs === null ? 'idle' : 'waiting';
    return { deposed: false, epoch, again: dueInMs === 0, next, dueInMs, seen };
  }

  status(): BalancerStatus {
    const { last, turn, moves, waitingMs } = this;
    return { epoch: last?.epoch ?? 0, rounds: turn, moves, waiting: last?.waiting ?? 0, waitingMs };
  }

  protected describe(): void {
    const { last, turn, moves } = this;
    if (last !== null)
      showDetails(balancerDetails({ ...last, nowMs: Date.now(), rounds: turn, moves }), balancerStart());
  }
}
