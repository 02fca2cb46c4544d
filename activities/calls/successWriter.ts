import type { Pool } from '../../postgres/pool';
import { withRetries } from '../../postgres/errors';
import type { Notice, ResultPage } from '../../postgres/calls/records';
import { settleSucceeded } from '../../postgres/calls/settle';
import { Gatherer } from './groupCommit';

interface Success {
  batch: { id: number; attempt: number; counts: boolean; keyed?: boolean };
  pages: ResultPage[];
  notices: Notice[];
}

interface Waiting {
  success: Success;
  resolve: (written: boolean) => void;
  reject: (error: unknown) => void;
}

/** Bounds one statement's text. */
const MOST_BATCHES = 200;

/**
 * Settles batches whose every member succeeded, many in one statement: while one is on its way the
 * next ones gather and share the following one. A lone batch waits for nobody. All submissions of a
 * process share one writer (`successWriterOf`).
 */
export class SuccessWriter {
  private readonly gatherer = new Gatherer<Waiting>(
    MOST_BATCHES,
    ({ success }) => [success.batch.id],
    async (group) => {
      try {
        await this.settle(group);
      } catch (error) {
        // Whatever is wrong with one of them is not the others' fault.
        if (group.length === 1) group[0]!.reject(error);
        else for (const one of group) await this.settle([one]).catch(one.reject);
      }
    },
  );

  constructor(private readonly pool: Pool) {}

  write(success: Success): Promise<boolean> {
    return new Promise((resolve, reject) => this.gatherer.add({ success, resolve, reject }));
  }

  private async settle(group: readonly Waiting[]): Promise<void> {
    const done = await withRetries(() =>
      settleSucceeded(
        this.pool,
        group.map(({ success }) => success.batch),
        group.flatMap(({ success }) => success.pages),
        group.flatMap(({ success }) => success.notices),
      ),
    );
    for (const { success, resolve } of group) resolve(done.has(success.batch.id));
  }
}

const writers = new WeakMap<Pool, SuccessWriter>();

export const successWriterOf = (pool: Pool): SuccessWriter => {
  let writer = writers.get(pool);
  if (writer === undefined) writers.set(pool, (writer = new SuccessWriter(pool)));
  return writer;
};
