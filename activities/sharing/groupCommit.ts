import { briefly } from '../../workflows/behind';

/** A group whose statement waits longer than this for a lock no longer holds up the others. */
const SLOW_MS = 250;

/**
 * Shares statements among many batches: while a group is being written the next batches wait, and
 * go together, at most `most` of them. The first waits for no other; a slow group is not waited
 * for. No group names a batch twice: two dispatches of one process may hold the same one (one was
 * taken over and does not know it yet), and in one statement neither could tell whose mark or
 * answer was taken. `run` never rejects.
 */
export class GroupCommit<T> {
  private readonly waiting: T[] = [];
  private working = false;

  constructor(
    private readonly most: number,
    private readonly idsOf: (one: T) => readonly number[],
    private readonly run: (group: T[]) => Promise<void>,
  ) {}

  add(one: T): void {
    this.waiting.push(one);
    if (!this.working) void this.drain();
  }

  private async drain(): Promise<void> {
    this.working = true;
    while (this.waiting.length > 0) await briefly(this.run(this.take()), SLOW_MS);
    this.working = false;
  }

  /** Takes at least one, in order of arrival. */
  private take(): T[] {
    const ids = new Set<number>();
    let count = 0;
    for (; count < this.waiting.length; count++) {
      const more = this.idsOf(this.waiting[count]!);
      if (count > 0 && (ids.size + more.length > this.most || more.some((id) => ids.has(id)))) break;
      for (const id of more) ids.add(id);
    }
    return this.waiting.splice(0, count);
  }
}
