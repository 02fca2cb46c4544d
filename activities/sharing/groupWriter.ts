import { isUnavailable } from '../../postgres/errors';
import { GroupCommit } from './groupCommit';

interface Waiting<T, R> {
  one: T;
  resolve: (written: R) => void;
  reject: (error: unknown) => void;
}

/** Bounds one statement's text. */
const MOST_BATCHES = 200;

/**
 * Writes plain answers of many batches together, as `write` does: while some are being written the
 * next ones wait and share the following group. A lone batch waits for no other. `write` returns
 * the result of each, by its batch.
 */
export class GroupWriter<T extends { id: number }, R> {
  private readonly groupCommit = new GroupCommit<Waiting<T, R>>(
    MOST_BATCHES,
    ({ one }) => [one.id],
    async (group) => {
      try {
        await this.run(group);
      } catch (error) {
        // An error of one of them is not the others' fault, unless Postgres itself is away.
        if (group.length === 1 || isUnavailable(error)) for (const { reject } of group) reject(error);
        else for (const waiting of group) await this.run([waiting]).catch(waiting.reject);
      }
    },
  );

  constructor(private readonly writeAll: (group: readonly T[]) => Promise<ReadonlyMap<number, R>>) {}

  write(one: T): Promise<R> {
    return new Promise((resolve, reject) => this.groupCommit.add({ one, resolve, reject }));
  }

  private async run(group: readonly Waiting<T, R>[]): Promise<void> {
    const written = await this.writeAll(group.map(({ one }) => one));
    for (const { one, resolve } of group) resolve(written.get(one.id)!);
  }
}
