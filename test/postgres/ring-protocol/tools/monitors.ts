import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import { pollAccepted } from '../../../../activities/accepted/poll';
import type { ActivityDeps } from '../../../../activities/deps';
import type { PollAnswer } from '../../../../workflows/definitions';
import type { Clock } from './clock';

/** The world around a monitor. */
interface Around {
  readonly closed: boolean;
  failure: unknown;
  during<T>(work: () => Promise<T>): Promise<T>;
}

const SILENT = new DefaultLogger('ERROR', () => undefined);

/** Monitors without Temporal: each looks when it is told to, and when its look says. */
export class Monitors {
  private readonly runs = new Map<string, MonitorRun>();

  constructor(
    private readonly deps: ActivityDeps,
    private readonly clock: Clock,
    private readonly around: Around,
  ) {}

  look(handler: string): void {
    const run = this.runs.get(handler) ?? new MonitorRun(this.clock, this.around, () => this.poll(handler));
    this.runs.set(handler, run);
    run.look();
  }

  private poll(handler: string): Promise<PollAnswer> {
    return new MockActivityEnvironment({}, { logger: SILENT }).run(() => pollAccepted(this.deps, { handler }));
  }
}

class MonitorRun {
  private looking = false;
  private told = false;
  private stop: (() => void) | undefined;

  constructor(
    private readonly clock: Clock,
    private readonly around: Around,
    private readonly poll: () => Promise<PollAnswer>,
  ) {}

  look(): void {
    this.told = true;
    if (!this.looking) this.run().catch((error: unknown) => (this.around.failure ??= error));
  }

  private async run(): Promise<void> {
    this.looking = true;
    this.stop?.();
    try {
      while (this.told && !this.around.closed) {
        this.told = false;
        const { dueInMs } = await this.around.during(this.poll);
        if (dueInMs !== null && !this.told) this.stop = this.clock.setTimer(dueInMs, () => this.wake());
      }
    } finally {
      this.looking = false;
    }
  }

  private wake(): void {
    this.stop?.();
    this.look();
  }
}
