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

/**
 * Removes the next group: the first, and those after it while they name at most `most` batches, none of them twice. Two submissions of one
 * process may hold the same batch (one was taken over and does not know it yet): in one statement neither could tell whose mark it was.
 */
export const takeDistinct = <T>(waiting: T[], most: number, idsOf: (one: T) => readonly number[]): T[] => {
  const ids = new Set(idsOf(waiting[0]!));
  let count = 1;
  for (; count < waiting.length; count++) {
    const more = idsOf(waiting[count]!);
    if (ids.size + more.length > most || more.some((id) => ids.has(id))) break;
    for (const id of more) ids.add(id);
  }
  return waiting.splice(0, count);
};
