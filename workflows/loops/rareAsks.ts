import { CancellationScope, patched, sleep } from '@temporalio/workflow';

/** A task is asked about once an hour, in case its callback was given up. */
export const RARE_ASK_MS = 3_600_000;

/**
 * The hourly asks of a user's run, by one timer for all its waits: a timer per wait is a Temporal
 * action per task, and hardly any fires. A wait is asked about first after one to two hours. The
 * timer outlasts the wait that began it, so that the next one finds it running.
 *
 * The run's first wait has a separate timer, as all had in 0.1: most runs submit once, and their
 * histories need no marker.
 */
class RareAsks {
  private begun = 0;
  private open = 0;
  private ticks = 0;
  private running = false;

  /** Begins a wait; null: it has a separate timer. */
  begin(): RareAsk | null {
    if (this.begun++ === 0 || !patched('muster-one-rare-timer')) return null;
    // A timer that runs already covers only a part of its first hour.
    const first = this.ticks + (this.running ? 2 : 1);
    this.open++;
    if (!this.running) void this.tick();
    return new RareAsk(
      first,
      () => this.ticks,
      () => this.open--,
    );
  }

  /** Outside of the scope of the wait that begins it, whose cancellation must not end it. */
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
