import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Work of one kind, one piece after another, until it is stopped; each call is repeated until it is
 * accepted.
 */
export abstract class Stream {
  private stopping = false;
  private running: Promise<void> = Promise.resolve();
  /** The first failures that differ. */
  readonly messages = new Set<string>();

  /** `everyMs`: between two pieces, at random from half to one and a half times that. */
  constructor(
    private readonly everyMs: number,
    protected readonly random: () => number,
  ) {}

  protected abstract piece(): Promise<void>;

  start(): void {
    this.running = this.run();
  }
  /** Resolves when the piece that is being given in is accepted. */
  async stop(): Promise<void> {
    this.stopping = true;
    await this.running;
  }

  private async run(): Promise<void> {
    while (!this.stopping) {
      await this.piece();
      await sleep(this.everyMs * (0.5 + this.random()));
    }
  }

  protected async untilAccepted<T>(work: () => Promise<T>): Promise<T> {
    for (;;)
      try {
        return await work();
      } catch (error) {
        if (this.messages.size < MESSAGES) this.messages.add(error instanceof Error ? error.message : String(error));
        await sleep(AGAIN_MS);
      }
  }
}
const MESSAGES = 10;
const AGAIN_MS = 250;
