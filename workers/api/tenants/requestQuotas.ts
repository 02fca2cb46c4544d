import type { Admit } from '../../../client/tasks/submitResult';
import type { Labels } from '../../../postgres/grouping/labels';
import type { Need, Quotas, Taken } from './quotas';

/** A tenant's quotas as one request meets them: it counts once, however often it is tried. */
export class RequestQuotas {
  private taken: Taken[] = [];

  constructor(
    private readonly quotas: Pick<Quotas, 'take' | 'takeBack' | 'end'>,
    private readonly isDryRun: boolean,
  ) {}

  /** Begins a try: what an earlier one took, which was rolled back, is given back. */
  begin(): void {
    for (const one of this.taken) this.quotas.takeBack(one);
    this.taken = [];
  }

  /** Ends the request: what it stored is in the store, or never will be. */
  end(): void {
    for (const one of this.taken) this.quotas.end(one);
    this.taken = [];
  }

  /** Returns what admits the tasks of one submit of this tenant to a handler. */
  tasks(name: string, handler: string): Admit {
    return (tasks) =>
      this.take(name, {
        queued: tasks.length,
        bytes: tasks.reduce((sum, task) => sum + task.bytes + bytesOf(task.labels ?? null), 0),
        targets: tasks.map(({ target }) => `${handler}\n${target}`),
      });
  }

  execution(name: string, items: number): Promise<void> {
    return this.take(name, { executions: 1, items });
  }

  /** A fan-out counts as one item beside its items: each is a row that nothing else bounds. */
  fanout(name: string): Promise<void> {
    return this.take(name, { items: 1 });
  }

  items(name: string, items: number): Promise<void> {
    return this.take(name, { items });
  }

  private async take(name: string, need: Need): Promise<void> {
    const taken = await this.quotas.take(name, need, this.isDryRun);
    if (taken !== null) this.taken.push(taken);
  }
}

/** As `readBacklog` counts them in the store. */
const bytesOf = (labels: Labels | null): number =>
  labels === null ? 0 : [...labels.tags, labels.metadata ?? ''].reduce((sum, text) => sum + Buffer.byteLength(text), 0);
