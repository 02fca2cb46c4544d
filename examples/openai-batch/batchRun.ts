import { once } from 'node:events';
import { finished } from 'node:stream/promises';
import type { WriteStream } from 'node:fs';
import { lines } from '../support/lines';
import type { BatchObject, RequestLine, ResponseLine } from './batchTypes';
import type { FileStore } from './fileStore';
import { modelAnswer, notExecuted } from './modelAnswer';

export interface RunOptions {
  /** Share of requests that are answered 500. */
  errorRate: number;
  /** A batch with more requests than this expires when so many are done; 0: none expires. */
  expireAfter: number;
}

/**
 * Result lines are written in blocks of this many, each block backwards: as with the real API,
 * no reader may count on their order.
 */
const BLOCK_LINES = 50;

/**
 * Executes the requests of a batch one by one, from its input file to its output and error files,
 * and answers how it ended. A caller that sets the status to `cancelling` meanwhile stops it: what
 * is done stays done.
 */
export async function runBatch(
  batch: BatchObject,
  files: FileStore,
  options: RunOptions,
): Promise<'completed' | 'expired' | 'cancelled'> {
  const outputId = files.newId();
  const errorId = files.newId();
  const output = new BlockWriter(files.write(outputId));
  const errors = new BlockWriter(files.write(errorId));
  const counts = { total: batch.request_counts.total, completed: 0, failed: 0 };
  let ended: 'completed' | 'expired' | 'cancelled' = 'completed';
  for await (const text of lines(files.read(batch.input_file_id))) {
    const line = JSON.parse(text) as RequestLine;
    if (ended === 'completed') {
      const expires = options.expireAfter > 0 && counts.completed + counts.failed >= options.expireAfter;
      ended = batch.status === 'cancelling' ? 'cancelled' : expires ? 'expired' : 'completed';
    }
    const answer =
      ended === 'completed' ? modelAnswer(line, batch.id, options.errorRate) : notExecuted(line, `batch_${ended}`);
    const good = answer.response !== null && answer.response.status_code < 300;
    counts[good ? 'completed' : 'failed'] += 1;
    await (good ? output : errors).write(answer);
    batch.request_counts = { ...counts };
  }
  await output.end();
  await errors.end();
  batch.output_file_id = output.lines > 0 ? outputId : null;
  batch.error_file_id = errors.lines > 0 ? errorId : null;
  return ended;
}

class BlockWriter {
  lines = 0;
  private block: string[] = [];
  constructor(private readonly stream: WriteStream) {}

  async write(line: ResponseLine): Promise<void> {
    this.lines += 1;
    this.block.push(JSON.stringify(line));
    if (this.block.length >= BLOCK_LINES) {
      await this.flush();
    }
  }

  async end(): Promise<void> {
    await this.flush();
    this.stream.end();
    await finished(this.stream);
  }

  private async flush(): Promise<void> {
    const text = this.block.reverse().map((line) => `${line}\n`);
    this.block = [];
    if (text.length > 0 && !this.stream.write(text.join(''))) {
      await once(this.stream, 'drain');
    }
  }
}
