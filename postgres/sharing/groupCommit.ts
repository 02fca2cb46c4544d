/** What became of one item of a group. */
export type Settled<R> = { value: R } | { error: unknown };
/** What became of it, or what goes on by itself, and no other item waits for. */
type Answer<R> = Settled<R> | Promise<R>;

interface Limits<T> {
  /** Most items of a group. */
  most: number;
  /** Returns how many of the first items, of at most `most`, go together; at least 1. Pure. */
  prefix: (waiting: readonly T[]) => number;
  /** Most groups under way. */
  parallel: number;
  /** The next group waits for the one before for at most this long. */
  patienceMs: number;
}

interface Waiting<T, R> {
  item: T;
  resolve: (value: R) => void;
  reject: (error: unknown) => void;
}

/**
 * Runs `work` for many callers at once: the first one goes at once, and those who come meanwhile go
 * with the next group. Each has an answer for itself. A group that takes long (it waits for a lock
 * of another session) holds up the next one for `patienceMs` only.
 */
export class GroupCommit<T, R> {
  private waiting: Waiting<T, R>[] = [];
  private running = 0;
  private begun = 0;
  /** The group that began last has ended, or was waited for long enough. */
  private isFree = true;

  constructor(
    private readonly work: (items: readonly T[]) => Promise<readonly Answer<R>[]>,
    private readonly limits: Limits<T>,
  ) {}

  add(item: T): Promise<R> {
    return new Promise<R>((resolve, reject) => {
      this.waiting.push({ item, resolve, reject });
      this.begin();
    });
  }

  private begin(): void {
    if (!this.isFree || this.running >= this.limits.parallel || this.waiting.length === 0) return;
    const { most, prefix } = this.limits;
    const first = this.waiting.slice(0, most).map(({ item }) => item);
    const group = this.waiting.splice(0, prefix(first));
    this.running++;
    this.isFree = false;
    const patience = setTimeout(() => this.goOn(), this.limits.patienceMs);
    const begun = ++this.begun;
    void this.run(group).finally(() => {
      clearTimeout(patience);
      this.running--;
      // One that was waited for long enough lets the next begin only where too many were under way.
      if (begun === this.begun) this.goOn();
      else this.begin();
    });
  }

  private goOn(): void {
    this.isFree = true;
    this.begin();
  }

  private async run(group: readonly Waiting<T, R>[]): Promise<void> {
    try {
      const answers = await this.work(group.map(({ item }) => item));
      group.forEach(({ resolve, reject }, i) => {
        const answer = answers[i]!;
        if (answer instanceof Promise) answer.then(resolve, reject);
        else if ('error' in answer) reject(answer.error);
        else resolve(answer.value);
      });
    } catch (error) {
      for (const { reject } of group) reject(error);
    }
  }
}
