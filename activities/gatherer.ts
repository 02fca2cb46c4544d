/** A statement that waits for a lock longer than this no longer holds the others up (A18). */
const SLOW_MS = 250;

/**
 * Work of many that shares statements: while a group is on its way the next ones gather, and go together. The first waits for nobody; a
 * slow group is not waited for. `take` removes the next group (at least one) from what waits; `run` never rejects.
 */
export class Gatherer<T> {
  private readonly waiting: T[] = [];
  private working = false;

  constructor(
    private readonly take: (waiting: T[]) => T[],
    private readonly run: (group: T[]) => Promise<void>,
  ) {}

  add(one: T): void {
    this.waiting.push(one);
    if (!this.working) void this.drain();
  }

  private async drain(): Promise<void> {
    this.working = true;
    while (this.waiting.length > 0) await endOrSlow(this.run(this.take(this.waiting)));
    this.working = false;
  }
}

const endOrSlow = async (work: Promise<void>): Promise<void> => {
  let timer: NodeJS.Timeout | undefined;
  const slow = new Promise<void>((resolve) => (timer = setTimeout(resolve, SLOW_MS)));
  await Promise.race([work, slow]);
  clearTimeout(timer);
};
