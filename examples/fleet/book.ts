import type { Write } from './handler';

/** What the gate recorded. */
export interface Account {
  /** Accepted, in their order. */
  writes: Omit<Write, 'tasks'>[];
  /** Refused: a higher epoch had been seen. */
  refused: (Omit<Write, 'tasks'> & { highest: number })[];
  /** Accepted again under the same key: answered as the first time, nothing was done. */
  repeats: number;
  tasks: string[];
  /** Tasks that were processed under two keys. */
  twice: string[];
}

/**
 * Keeps the highest epoch of each partition and refuses lower ones; what makes a node that was
 * stopped and wakes harmless.
 */
export class Book {
  private readonly highest = new Map<string, number>();
  private readonly keys = new Set<string>();
  private readonly tasks = new Set<string>();
  private readonly account: Omit<Account, 'tasks'> = { writes: [], refused: [], repeats: 0, twice: [] };

  /** Null: accepted; else the epoch that is in its way. */
  write({ tasks, ...write }: Write): number | null {
    const highest = this.highest.get(write.partition) ?? 0;
    if (write.epoch < highest) {
      this.account.refused.push({ ...write, highest });
      return highest;
    }
    this.highest.set(write.partition, write.epoch);
    this.account.writes.push(write);
    if (this.keys.has(write.key)) this.account.repeats++;
    else for (const task of tasks) this.take(task);
    this.keys.add(write.key);
    return null;
  }

  /** Highest epoch of each partition. */
  epochs(): Record<string, number> {
    return Object.fromEntries(this.highest);
  }

  read(): Account {
    return { ...this.account, tasks: [...this.tasks] };
  }

  private take(task: string): void {
    if (this.tasks.has(task)) this.account.twice.push(task);
    this.tasks.add(task);
  }
}
