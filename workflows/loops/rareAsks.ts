import { CancellationScope, patched, sleep } from '@temporalio/workflow';

/** The end of a task is polled once an hour, in case its callback was given up. In milliseconds. */
export const RARE_ASK_MS = 3_600_000;

/**
 * Decides when the waits of a user's run poll their tasks once an hour, by one timer for all waits:
 * a timer per wait would cost a Temporal action per task, and hardly any would fire. A wait polls
 * for the first time after one to two hours. The timer outlasts the wait that started it, so that
 * the next wait finds it running.
 *
 * The run's first wait has a separate timer, as every wait had in 0.1: most runs submit once, and
 * their histories then need no marker.
 */
class RareAsks {
  private begun = 0;
  private open = 0;
  private ticks = 0;
  private running = false;

  /** Begins a wait. Null: it needs a separate timer. */
  begin(): RareAsk | null {
    if (this.begun++ === 0 || !patched('muster-one-rare-timer')) return null;
    // A timer that runs already covers only a part of the wait's first hour.
    const first = this.ticks + (this.running ? 2 : 1);
    this.open++;
    if (!this.running) void this.tick();
    return new RareAsk(
      first,
      () => this.ticks,
      () => this.open--,
    );
  }

  /**
   * Runs the timer outside of the scope of the wait that starts it, whose cancellation must not end
   * the timer.
   */
  private tick(): Promise<void> {
    return CancellationScope.nonCancellable(async () => {
      this.running = true;
      for (; this.open > 0; this.ticks++) await sleep(RARE_ASK_MS, { summary: 'in case a callback was given up' });
      this.running = false;
    });
  }
}

class RareAsk {
  constructor(
    private next: number,
    private readonly ticks: () => number,
    readonly end: () => void,
  ) {}
  isDue(): boolean {
    return this.ticks() >= this.next;
  }
  asked(): void {
    this.next = this.ticks() + 1;
  }
}

/** Module state belongs to a workflow run. */
export const rareAsks = new RareAsks();
