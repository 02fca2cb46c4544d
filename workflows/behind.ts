import type { Requests } from './temporal/requests';

/**
 * How many milliseconds a caller waits for a wake: a script may end after its call, and its wake
 * should have been sent by then.
 */
const AWAITED_MS = 500;
/**
 * For how many milliseconds after a failed or late wake no caller waits, since the server is
 * unreachable or overloaded.
 */
const UNAWAITED_MS = 5_000;

/**
 * Does what follows a commit: wakes the workflows that have something to do. The caller's work is
 * committed by then, so the caller waits only a moment for it, and not at all while Temporal does
 * not answer. The sweeper of any worker repeats a wake that does not arrive.
 */
export class Behind {
  private readonly pending = new Set<Promise<void>>();
  private troubleAt = -Infinity;

  constructor(
    private readonly requests: () => Promise<Requests>,
    private readonly onFailure: (error: Error) => void,
  ) {}

  /** Sends wakes. Resolves when they are sent, or when that takes too long. Never rejects. */
  wake(send: (requests: Requests) => Promise<Error | null>): Promise<void> {
    return this.follow(async () => {
      const failure = await send(await this.requests());
      if (failure !== null) throw failure;
    });
  }

  /** Runs work whose failure does not matter to the caller. Resolves like `wake`. */
  follow(work: () => Promise<unknown>): Promise<void> {
    const done = work().then(
      () => undefined,
      (error: unknown) => this.failed(error as Error),
    );
    this.pending.add(done);
    void done.finally(() => this.pending.delete(done));
    return this.briefly(done);
  }

  /** Resolves when all work in progress has ended. */
  async idle(): Promise<void> {
    while (this.pending.size > 0) await Promise.all(this.pending);
  }

  private async briefly(done: Promise<void>): Promise<void> {
    if (performance.now() - this.troubleAt < UNAWAITED_MS) return;
    if (!(await briefly(done, AWAITED_MS))) this.troubleAt = performance.now();
  }

  /** Reports a wake that did not arrive. */
  failed(error: Error): void {
    this.troubleAt = performance.now();
    try {
      this.onFailure(error);
    } catch {
      // The report itself failed, which changes nothing: the sweeper repeats the wake.
    }
  }
}

/**
 * Waits for work that never rejects, but for at most `ms` milliseconds, and returns whether the
 * work has ended. If not, it continues in the background.
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
