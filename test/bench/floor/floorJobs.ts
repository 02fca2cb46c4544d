/** A batch that the floor may claim now. */
export interface Job {
  target: string;
  n: number;
}

/**
 * Which batches of a backlog are full, from nothing but how many tasks are in: the floor is told
 * what a real one would have to look up. Full batches go while the rest still comes in; what is
 * left goes when the last task is in, as Muster's flush lets it.
 */
export class FloorJobs {
  private readonly given: number[];
  private readonly jobs: Job[] = [];
  private readonly waitingOf = new Map<string, number>();
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
    this.count(job, 1);
    this.wake();
  }

  end(): void {
    this.ended = true;
    this.wake();
  }

  /** One job, of this target if it has any; none: all were given. */
  async takeOf(target: string | null): Promise<Job | undefined> {
    await this.some();
    const has = target !== null && (this.waitingOf.get(target) ?? 0) > 0;
    const [job] = this.jobs.splice(has ? this.jobs.findIndex((one) => one.target === target) : 0, 1);
    if (job !== undefined) this.count(job, -1);
    return job;
  }

  /** Jobs of at most `tasks` tasks together, at least one; none: all were given. */
  async take(tasks: number): Promise<Job[]> {
    await this.some();
    if (this.jobs.length === 0) return [];
    let sum = this.jobs[0]!.n;
    let count = 1;
    while (count < this.jobs.length && sum + this.jobs[count]!.n <= tasks) sum += this.jobs[count++]!.n;
    const taken = this.jobs.splice(0, count);
    for (const job of taken) this.count(job, -1);
    return taken;
  }

  private async some(): Promise<void> {
    while (this.jobs.length === 0 && !this.ended) await new Promise<void>((resolve) => this.waiting.push(resolve));
  }

  private count({ target }: Job, by: number): void {
    this.waitingOf.set(target, (this.waitingOf.get(target) ?? 0) + by);
  }

  private add(job: Job, i: number): void {
    this.given[i]! += job.n;
    this.push(job);
  }

  private wake(): void {
    for (const resolve of this.waiting.splice(0)) resolve();
  }
}
