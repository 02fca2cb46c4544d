import type { Client as TemporalClient } from '@temporalio/client';

/**
 * A caller waits for a wake this long: a script may end after its call, and its wake had better be
 * on its way.
 */
const AWAITED_MS = 500;
/**
 * After a wake that failed or was late nobody waits for the next ones: the server is away, or
 * overloaded.
 */
const UNAWAITED_MS = 5_000;

/**
 * What follows a commit: to tell workflows that there is something to do. The caller's work is done
 * by then, so it waits a moment at most, and not at all while Temporal does not answer; what does
 * not get through is repeated by the sweeper of any worker.
 */
export class Behind {
  private readonly pending = new Set<Promise<void>>();
  private troubleAt = -Infinity;

  constructor(
    private readonly temporal: () => Promise<TemporalClient>,
    private readonly onFailure: (error: Error) => void,
  ) {}

  /**
   * Sends wakes; resolves when they are sent, or when waiting for them has become too long. Never
   * rejects.
   */
  wake(send: (temporal: TemporalClient) => Promise<Error | null>): Promise<void> {
    return this.follow(async () => {
      const failure = await send(await this.temporal());
      if (failure !== null) throw failure;
    });
  }

  /** Runs work that fails nothing when it fails; resolves like `wake`. */
  follow(work: () => Promise<unknown>): Promise<void> {
    const done = work().then(
      () => undefined,
      (error: unknown) => this.failed(error as Error),
    );
    this.pending.add(done);
    void done.finally(() => this.pending.delete(done));
    return this.briefly(done);
  }

  /** Resolves when everything that was begun has ended. */
  async idle(): Promise<void> {
    while (this.pending.size > 0) await Promise.all(this.pending);
  }

  private async briefly(done: Promise<void>): Promise<void> {
    if (performance.now() - this.troubleAt < UNAWAITED_MS) return;
    if (!(await briefly(done, AWAITED_MS))) this.troubleAt = performance.now();
  }

  /** Tells of a wake that did not get through. */
  failed(error: Error): void {
    this.troubleAt = performance.now();
    try {
      this.onFailure(error);
    } catch {
      // The caller's own; the wake is the sweeper's now.
    }
  }
}

/**
 * Waits for work that ends without a rejection, but no longer than `ms`: answers whether it has
 * ended. It goes on behind.
 */
export const briefly = async (work: Promise<unknown>, ms: number): Promise<boolean> => {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), ms);
  });
  const ended = await Promise.race([work.then(() => true), late]);
  clearTimeout(timer);
  return ended;
};
