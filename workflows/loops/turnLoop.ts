import { ApplicationFailure, CancellationScope, condition, workflowInfo } from '@temporalio/workflow';
import type { TurnInput } from '../messages';
import { checkOwnScope } from '../ownScope';
import { unlessStopping } from './stopping';

/**
 * Turns after which a run continues as new when it can: at 6 events each a replay takes less than a
 * second, also of many runs on a busy machine.
 */
export const TURNS_PER_RUN = 200;
/** Events after which a run must continue as new; a server ends a run at 51,200. */
export const MOST_EVENTS = 10_000;

/**
 * Time that a dispatch needs besides its calls: until its soft deadline, and for the store to come
 * back.
 */
const BESIDE_CALLS_MS = 5 * 60_000;
/**
 * Returns the longest that a dispatch may take: calls that are in flight at its soft deadline may
 * still take the handler's limit.
 */
export const dispatchLimitMs = (callTimeoutMs = 3_600_000): number => callTimeoutMs + BESIDE_CALLS_MS;

/** Input of every turn: which run takes it, and which activities the run knows of. */
export type Turn = Omit<TurnInput, 'leaderId' | 'handler' | 'name' | 'installation'>;

interface Answer {
  deposed: boolean;
  foreign?: true | undefined;
  epoch: number;
  again: boolean;
  next: 'idle' | 'working' | 'waiting';
  dueInMs: number | null;
}

/**
 * Runs a workflow that decides in turns, as leaders and queuers do: takes a turn, keeps what it
 * started running, waits until woken, until something that it started ends, or until the next thing
 * is due; ends when nothing is left. Every write of a turn is guarded by its number, since a local
 * activity may run again with the same arguments.
 */
export abstract class TurnLoop<A extends Answer> {
  /** Wakes so far, and how many of them the last turn knew of. */
  private looks = 0;
  private looked = 0;
  protected turn = 0;
  /** Activities in progress, by their number in the store. */
  protected readonly live = new Set<number>();
  private ended = 0;
  private released = false;
  /** An operator asked in the Web UI to cancel the run. */
  private cancelled = false;
  protected waitingMs: number | null = null;

  constructor(
    private readonly turnsPerRun: number,
    private readonly mostEvents: number,
    private readonly waitsFor: string,
  ) {}

  /** Takes one turn and starts what it returns, by `track`. A `deposed` answer ends the run. */
  protected abstract takeTurn(turn: Turn): Promise<A>;
  protected abstract continueAsNew(): Promise<never>;
  /**
   * Writes the run's state for the Web UI, which costs no Temporal action; called whenever
   * something ended.
   */
  protected abstract describe(): void;

  look(): void {
    this.looks++;
  }

  private get woken(): boolean {
    return this.cancelled || this.looks > this.looked;
  }

  /**
   * Runs the loop. `dueInMs`: due time in the wake that started the run; it need not look before.
   */
  async lead(dueInMs: number): Promise<void> {
    checkOwnScope();
    const { cancelRequested } = CancellationScope.current();
    cancelRequested.catch(() => (this.cancelled = true));
    await CancellationScope.nonCancellable(() => this.takeTurns(dueInMs));
    if (this.cancelled) await cancelRequested; // ends the run as cancelled
  }

  private async takeTurns(dueInMs: number): Promise<void> {
    // The run was started for work that lies ahead: the wake wrote the leader as waiting until
    // then, so there is nothing to look at before. The signal that came with the start said the
    // same; a second signal means that something is due earlier.
    if (dueInMs > 0) {
      this.looked = 1;
      await this.wait(dueInMs);
    }
    for (;;) {
      // A request to cancel aborts no call: the run begins nothing more, and ends when its calls
      // have ended. The next wake starts another run.
      if (this.cancelled) return condition(() => this.live.size === 0);
      // Before any local activity of this workflow task, and with nothing in flight: a closed run's
      // activities are aborted.
      if (this.isLong() && this.live.size === 0) await this.continueAsNew();
      const draining = this.mustEnd();
      this.looked = this.looks;
      const { ended } = this; // as it was before: an activity may end while a slow turn is taken, and is not to be waited for then
      const answer = await unlessStopping(() => this.takeTurn(this.nextTurn(!draining)));
      if (answer === null) continue;
      // Not a leader of this store: the store's own leader gets its own run when it is woken.
      if (answer.foreign === true) return;
      if (answer.deposed)
        throw ApplicationFailure.create({
          type: 'Deposed',
          message: `a later run leads (epoch ${answer.epoch})`,
          nonRetryable: true,
        });
      if (answer.again && !draining) continue;
      if (answer.next === 'idle' && !this.woken && this.live.size === 0 && !answer.again) return;
      if (this.woken) continue;
      if (await this.waitIsOver(answer, ended)) return;
    }
  }

  /**
   * Tracks an activity until `work` ends, well or not: the next turn finds its result in the store.
   */
  protected track(no: number, work: Promise<void>): void {
    this.live.add(no);
    work
      .catch(() => undefined)
      .finally(() => {
        this.live.delete(no);
        this.ended++;
        this.describe();
      });
  }

  /**
   * Notes that the activity that just ended, started in `turn`, published that nothing is left: the
   * run may end, unless it is woken (`isOver` asks). A turn since then (a late wake, for nothing)
   * has published anew, and another turn has to take that back.
   */
  protected stepDown(turn: number): void {
    if (turn === this.turn) this.released = true;
  }

  private nextTurn(mayClaim: boolean): Turn {
    const { runId, runStartTime } = workflowInfo();
    return { runId, runStartedAtMs: runStartTime.getTime(), turn: ++this.turn, live: [...this.live], mayClaim };
  }

  /**
   * Says whether another run is to follow as soon as nothing happens to be in flight: this one is
   * long, or a new version became the current one. Until then it goes on claiming: one slow call
   * must not hold up everything else that the run leads.
   */
  private isLong(): boolean {
    const { continueAsNewSuggested, targetWorkerDeploymentVersionChanged } = workflowInfo();
    return this.turn >= this.turnsPerRun || continueAsNewSuggested || targetWorkerDeploymentVersionChanged;
  }

  /**
   * Says whether the run must end: the server would end one with a history much longer than this,
   * so it claims nothing more until nothing is in flight.
   */
  private mustEnd(): boolean {
    return workflowInfo().historyLength >= this.mostEvents;
  }

  /**
   * Returns true when the run may end (its only activity stepped down for it, and no wake came
   * since).
   */
  private async waitIsOver(answer: A, ended: number): Promise<boolean> {
    this.released = false;
    const changed = (): boolean => this.woken || this.ended > ended;
    if (answer.next === 'waiting' && answer.dueInMs !== null) await this.wait(answer.dueInMs, changed);
    else await condition(changed);
    return this.isOver;
  }

  /**
   * Its last activity published that nothing is left, and no wake came since: not even in the
   * workflow task that brought the activity's result, where either may have been applied first.
   */
  protected get isOver(): boolean {
    return this.released && !this.woken && this.live.size === 0;
  }

  private async wait(ms: number, until: () => boolean = () => this.woken): Promise<void> {
    this.waitingMs = ms;
    await condition(until, ms, { summary: this.waitsFor });
    this.waitingMs = null;
  }
}
