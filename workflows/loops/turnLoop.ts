import { ApplicationFailure, CancellationScope, condition, workflowInfo } from '@temporalio/workflow';
import type { Seen, TurnInput } from '../messages';
import { checkOwnScope } from '../ownScope';
import { clearAlarm, setAlarm } from './alarm';
import { unlessStopping } from './stopping';

/**
 * Turns after which a run continues as new when it can. At 6 events per turn, a replay takes less
 * than a second, even of many runs on a busy machine.
 */
export const TURNS_PER_RUN = 200;
/** Events after which a run must continue as new. A server ends a run at 51,200 events. */
export const MOST_EVENTS = 10_000;

/**
 * Milliseconds that a dispatch needs besides its calls: until its soft deadline, and for the store
 * to become available again.
 */
const BESIDE_CALLS_MS = 5 * 60_000;
/**
 * Returns how many milliseconds a dispatch may take: calls that are in flight at its soft deadline
 * may still take as long as the handler allows.
 */
export const dispatchLimitMs = (callTimeoutMs = 3_600_000): number => callTimeoutMs + BESIDE_CALLS_MS;

/** Input of every turn: which run takes it, and which activities that run has in progress. */
export type Turn = Omit<TurnInput, 'leaderId' | 'handler' | 'name' | 'installation'>;

interface Answer {
  deposed: boolean;
  foreign?: true | undefined;
  epoch: number;
  again: boolean;
  next: 'idle' | 'working' | 'waiting';
  dueInMs: number | null;
  seen?: Seen | undefined;
}

/**
 * Runs a workflow that decides in turns, as leaders and queuers do. It takes a turn, starts the
 * activities that the turn returns, and waits until it is woken, until one of its activities ends,
 * or until the next thing is due. It ends when nothing is left. Every write of a turn is guarded by
 * the turn's number, since a local activity may run again with the same arguments.
 */
export abstract class TurnLoop<A extends Answer> {
  /** How many wakes have arrived, and how many of them had arrived before the last turn. */
  private looks = 0;
  private looked = 0;
  protected turn = 0;
  /** Numbers, in the store, of the activities in progress. */
  protected readonly live = new Set<number>();
  private ended = 0;
  private released = false;
  /** An operator requested the cancellation of the run in the Web UI. */
  private cancelled = false;
  protected waitingMs: number | null = null;

  constructor(
    private readonly turnsPerRun: number,
    private readonly mostEvents: number,
    private readonly waitsFor: string,
    /** The handler whose work it decides; null: of several. */
    private readonly ofHandler: string | null,
  ) {}

  /**
   * Takes one turn, and starts the activities that it returns by `track`. A `deposed` answer ends
   * the run.
   */
  protected abstract takeTurn(turn: Turn): Promise<A>;
  protected abstract continueAsNew(): Promise<never>;
  /**
   * Writes the run's state for the Web UI, which costs no Temporal action. Called whenever an
   * activity has ended.
   */
  protected abstract describe(): void;

  look(): void {
    this.looks++;
  }

  private get woken(): boolean {
    return this.cancelled || this.looks > this.looked;
  }

  /**
   * Runs the loop. `dueInMs`: the due time in the wake that started the run, which need not take a
   * turn before.
   */
  async lead(dueInMs: number): Promise<void> {
    checkOwnScope();
    const { cancelRequested } = CancellationScope.current();
    cancelRequested.catch(() => (this.cancelled = true));
    await CancellationScope.nonCancellable(() => this.takeTurns(dueInMs));
    if (this.cancelled) await cancelRequested; // ends the run as cancelled
  }

  private async takeTurns(dueInMs: number): Promise<void> {
    // The run was started for work that is due later: the wake has written the leader as waiting
    // until then, so there is nothing to look at before. The signal that came with the start said
    // the same. A second signal means that something is due earlier.
    if (dueInMs > 0) {
      this.looked = 1;
      await this.wait(dueInMs);
    }
    for (;;) {
      // A request to cancel aborts no call: the run starts nothing more, and ends when its calls
      // have ended. The next wake starts another run.
      if (this.cancelled) return condition(() => this.live.size === 0);
      // Continue as new only before any local activity of this workflow task, and with nothing in
      // flight, since the activities of a closed run are aborted.
      if (this.isLong() && this.live.size === 0) await this.continueAsNew();
      const draining = this.mustEnd();
      // Read before the turn: an activity may end during a slow turn, and must not be waited for
      // then.
      const before: Seen = { looks: this.looks, ended: this.ended };
      const answer = await unlessStopping(() => this.takeTurn(this.nextTurn(!draining, before)));
      if (answer === null) continue;
      const seen = answer.seen ?? before;
      this.looked = seen.looks;
      // The run is not for a leader of this store. The store's own leader gets another run when it
      // is woken.
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
      if (await this.waitIsOver(answer, seen.ended)) return;
    }
  }

  /**
   * Tracks an activity until `work` ends, whether it succeeds or fails: the next turn finds its
   * result in the store.
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
   * Records that the activity that has just ended, which was started in `turn`, has published that
   * nothing is left: the run may end unless it is woken (see `isOver`). If another turn was taken
   * since (by a late wake without work), that turn has published the leader as active again, and
   * only a further turn can take that back.
   */
  protected stepDown(turn: number): void {
    if (turn === this.turn) this.released = true;
  }

  private nextTurn(mayClaim: boolean, seen: Seen): Turn {
    const { runId, runStartTime } = workflowInfo();
    return { runId, runStartedAtMs: runStartTime.getTime(), turn: ++this.turn, live: [...this.live], mayClaim, seen };
  }

  /**
   * Says whether the run continues as new as soon as nothing happens to be in flight: it is long,
   * or a new version became the current one. Until then it goes on claiming, since one slow call
   * must not delay everything else that the run leads.
   */
  private isLong(): boolean {
    const { continueAsNewSuggested, targetWorkerDeploymentVersionChanged } = workflowInfo();
    return this.turn >= this.turnsPerRun || continueAsNewSuggested || targetWorkerDeploymentVersionChanged;
  }

  /**
   * Says whether the run must end, and therefore claims nothing more until nothing is in flight:
   * the server would end a run with a much longer history.
   */
  private mustEnd(): boolean {
    return workflowInfo().historyLength >= this.mostEvents;
  }

  /**
   * Waits until something has changed. Returns true when the run may end, because its only activity
   * stepped down for it and no wake has arrived since.
   */
  private async waitIsOver(answer: A, ended: number): Promise<boolean> {
    this.released = false;
    const changed = (): boolean => this.woken || this.ended > ended;
    if (answer.next === 'waiting' && answer.dueInMs !== null) await this.wait(answer.dueInMs, changed);
    else await condition(changed);
    return this.isOver;
  }

  /**
   * Says whether the last activity has published that nothing is left, and no wake has arrived
   * since: not even in the workflow task that brought the activity's result, where either may have
   * been applied first.
   */
  protected get isOver(): boolean {
    return this.released && !this.woken && this.live.size === 0;
  }

  private async wait(ms: number, until: () => boolean = () => this.woken): Promise<void> {
    this.waitingMs = ms;
    setAlarm(ms, this.ofHandler);
    await condition(until, ms, { summary: this.waitsFor });
    clearAlarm();
    this.waitingMs = null;
  }
}
