import type { Call, Item } from './serve';

interface Waiting {
  task: Item;
  resolve: () => void;
  reject: (error: unknown) => void;
}

/** What is left goes after this time without another task of its target. */
const QUIET_MS = 100;

/**
 * Groups what a queue hands out one by one, as its user would have to: a call when it is full, or
 * when no more comes.
 */
export class Grouper {
  private readonly waiting = new Map<string, { tasks: Waiting[]; timer: NodeJS.Timeout }>();

  constructor(
    private readonly call: Call,
    private readonly maxItems: number,
  ) {}

  add(target: string, task: Item): Promise<void> {
    return new Promise((resolve, reject) => {
      let group = this.waiting.get(target);
      if (group === undefined) {
        group = { tasks: [], timer: setTimeout(() => this.flush(target), QUIET_MS) };
        this.waiting.set(target, group);
      }
      group.tasks.push({ task, resolve, reject });
      if (group.tasks.length >= this.maxItems) this.flush(target);
      else group.timer.refresh();
    });
  }

  private flush(target: string): void {
    const { tasks, timer } = this.waiting.get(target)!;
    this.waiting.delete(target);
    clearTimeout(timer);
    this.call(
      target,
      tasks.map(({ task }) => task),
    ).then(
      () => tasks.forEach(({ resolve }) => resolve()),
      (error: unknown) => tasks.forEach(({ reject }) => reject(error)),
    );
  }
}
