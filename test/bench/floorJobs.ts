/** A batch that the floor may claim now. */
export interface Job {
  target: string;
  n: number;
}

/**
 * Which batches of a backlog are full, from nothing but how many tasks are in: the floor is told what a real one would have to look up.
 * Full batches go while the rest still comes in; what is left goes when the last task is in, as Muster's flush lets it.
 */
export class FloorJobs {
  private readonly given: number[];
  private readonly jobs: Job[] = [];
  private waiting: (() => void)[] = [];
  private ended = false;

  constructor(
    private readonly targets: readonly string[],
    private readonly maxItems: number,
  ) {
    this.given = targets.map(() => 0);
  }

  /** `tasks` are committed, targets having taken turns. */
  progress(tasks: number, ended: boolean): void {
    const count = this.targets.length;
    this.targets.forEach((target, i) => {
      const arrived = tasks > i ? Math.floor((tasks - 1 - i) / count) + 1 : 0;
      for (
        let left = arrived - this.given[i]!;
        left >= this.maxItems || (ended && left > 0);
        left = arrived - this.given[i]!
      )
        this.add({ target, n: Math.min(left, this.maxItems) }, i);
    });
    if (ended) this.end();
  }

  push(job: Job): void {
    this.jobs.push(job);
    this.wake();
  }

  end(): void {
    this.ended = true;
    this.wake();
  }

  /** Jobs of at most `tasks` tasks together, at least one; none: all were given. */
  async take(tasks: number): Promise<Job[]> {
    while (this.jobs.length === 0) {
      if (this.ended) return [];
      await new Promise<void>((resolve) => this.waiting.push(resolve));
    }
    let sum = this.jobs[0]!.n;
    let count = 1;
    while (count < this.jobs.length && sum + this.jobs[count]!.n <= tasks) sum += this.jobs[count++]!.n;
    return this.jobs.splice(0, count);
  }

  private add(job: Job, i: number): void {
    this.given[i]! += job.n;
    this.push(job);
  }

  private wake(): void {
    for (const resolve of this.waiting.splice(0)) resolve();
  }
}
