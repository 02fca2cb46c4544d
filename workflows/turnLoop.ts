import { ApplicationFailure, CancellationScope, condition, workflowInfo } from '@temporalio/workflow';
import type { TurnInput } from './messages';
import { checkOwnScope } from './ownScope';

/**
 * Turns after which a run continues as new when it can: at 6 events each a replay takes less than a
 * second, also of many runs on a busy machine.
 */
export const TURNS_PER_RUN = 200;
/** Events from which on it is made to; a server ends a run at 51,200. */
export const MOST_EVENTS = 10_000;

/**
 * Beside its calls, a submission takes until its soft deadline, and some time for the store to come
 * back.
 */
const BESIDE_CALLS_MS = 5 * 60_000;
/**
 * Longest that a submission may take: calls that are in flight at its soft deadline may still take
 * the handler's own limit.
 */
export const submissionLimitMs = (callTimeoutMs = 3_600_000): number => callTimeoutMs + BESIDE_CALLS_MS;

/** What every turn is given: who takes it, and which activities it knows of. */
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
 * The loop of a workflow that decides in turns (DESIGN section 4.3): takes a turn, keeps what it
 * started running, waits until woken, until something that it started ends, or until the next thing
 * is due; ends when nothing is left. Leaders and queuers are such.
 */
export abstract class TurnLoop<A extends Answer> {
  /** Wakes so far, and how many of them the last turn knew of. */
  private looks = 0;
  private looked = 0;
  protected turn = 0;
  /** Activities under way, by the number that the store knows them by. */
  protected readonly live = new Set<number>();
  private ended = 0;
  private released = false;
  /** Somebody asked in the Web UI to cancel the run. */
  private cancelled = false;
  protected waitingMs: number | null = null;

  constructor(
    private readonly turnsPerRun: number,
    private readonly mostEvents: number,
    private readonly waitsFor: string,
  ) {}

  /** One turn; starts what it answers, by `track`. A `deposed` answer ends the run. */
  protected abstract takeTurn(turn: Turn): Promise<A>;
  protected abstract continueAsNew(): Promise<never>;
  /** Tells the Web UI how things stand, free of actions; called whenever something ended. */
  protected abstract describe(): void;

  look(): void {
    this.looks++;
  }

  private get woken(): boolean {
    return this.cancelled || this.looks > this.looked;
  }

  /** `dueInMs`: of the wake that started the run, it need not look before. */
  async lead(dueInMs: number): Promise<void> {
    checkOwnScope();
    const { cancelRequested } = CancellationScope.current();
    cancelRequested.catch(() => (this.cancelled = true));
    await CancellationScope.nonCancellable(() => this.takeTurns(dueInMs));
    if (this.cancelled) await cancelRequested; // ends the run as cancelled
  }

  private async takeTurns(dueInMs: number): Promise<void> {
    // Started for work that lies ahead: the wake wrote the leader as waiting till then, so there is
    // nothing to look at before. The signal that came with the start said the same; a second one
    // means that something is due earlier.
    if (dueInMs > 0) {
      this.looked = 1;
      await this.wait(dueInMs);
    }
    for (;;) {
      // A request to cancel aborts no call: nothing new is begun, and the run ends with what runs.
      // The next wake starts another.
      if (this.cancelled) return condition(() => this.live.size === 0);
      // Before any local activity of this workflow task, and with nothing in flight: a closed run's
      // activities are aborted.
      if (this.isLong() && this.live.size === 0) await this.continueAsNew();
      const draining = this.mustEnd();
      this.looked = this.looks;
      const { ended } = this; // as it was before: an activity may end while a slow turn is taken, and is not to be waited for then
      const answer = await this.takeTurn(this.nextTurn(!draining));
      // Not of this store: whoever is wakes a run of his own.
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
   * An activity is under way until `work` ends, well or not: the next turn finds out in the store
   * what became of it.
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
   * The activity that just ended, started in `turn`, published that nothing is left: the run may
   * end, unless somebody wakes it first. A turn since (a late wake, for nothing) has published
   * anew, and is to be taken back by another.
   */
  protected stepDown(turn: number): void {
    if (!this.woken && turn === this.turn) this.released = true;
  }

  private nextTurn(mayClaim: boolean): Turn {
    const { runId, startTime } = workflowInfo();
    return { runId, runStartedAtMs: startTime.getTime(), turn: ++this.turn, live: [...this.live], mayClaim };
  }

  /**
   * The run is to be followed by another as soon as nothing happens to be in flight: it is long, or
   * a new version became the current one. Until then it goes on claiming: one slow call must not
   * hold up everything else that the run leads.
   */
  private isLong(): boolean {
    const { continueAsNewSuggested, targetWorkerDeploymentVersionChanged } = workflowInfo();
    return this.turn >= this.turnsPerRun || continueAsNewSuggested || targetWorkerDeploymentVersionChanged;
  }

  /**
   * The server would end a run with a history much longer than this: it claims nothing more until
   * nothing is in flight.
   */
  private mustEnd(): boolean {
    return workflowInfo().historyLength >= this.mostEvents;
  }

  /** True: the run may end (its only activity stepped down for it, and nobody woke it since). */
  private async waitIsOver(answer: A, ended: number): Promise<boolean> {
    this.released = false;
    const changed = (): boolean => this.woken || this.ended > ended;
    if (answer.next === 'waiting' && answer.dueInMs !== null) await this.wait(answer.dueInMs, changed);
    else await condition(changed);
    return this.isOver;
  }

  /** Its last activity published that nothing is left, and nobody has woken the run since. */
  protected get isOver(): boolean {
    return this.released && !this.woken && this.live.size === 0;
  }

  private async wait(ms: number, until: () => boolean = () => this.woken): Promise<void> {
    this.waitingMs = ms;
    await condition(until, ms, { summary: this.waitsFor });
    this.waitingMs = null;
  }
}
