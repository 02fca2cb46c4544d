import type { Pool } from '../postgres/pool';
import { withRetries } from '../postgres/errors';
import type { Notice, ResultPage } from '../postgres/settle';
import { settleSucceeded } from '../postgres/settle';

interface Success {
  batch: { id: number; attempt: number; counts: boolean };
  pages: ResultPage[];
  notices: Notice[];
}

/** Bounds one statement's text. */
const MOST_BATCHES = 200;

/**
 * Settles batches whose every member succeeded, many in one statement: while one is on its way the next ones gather and share the
 * following one. A lone batch waits for nobody.
 */
export class SuccessWriter {
  private waiting: { success: Success; resolve: (written: boolean) => void; reject: (error: unknown) => void }[] = [];
  private writing = false;

  constructor(private readonly pool: Pool) {}

  write(success: Success): Promise<boolean> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ success, resolve, reject });
      if (!this.writing) void this.drain();
    });
  }

  private async drain(): Promise<void> {
    this.writing = true;
    while (this.waiting.length > 0) {
      const group = this.waiting.splice(0, MOST_BATCHES);
      try {
        const done = await withRetries(() =>
          settleSucceeded(
            this.pool,
            group.map(({ success }) => success.batch),
            group.flatMap(({ success }) => success.pages),
            group.flatMap(({ success }) => success.notices),
          ),
        );
        for (const { success, resolve } of group) resolve(done.has(success.batch.id));
      } catch (error) {
        for (const { reject } of group) reject(error);
      }
    }
    this.writing = false;
  }
}
