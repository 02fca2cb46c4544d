import { randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { runBatch, type RunOptions } from './batchRun';
import type { BatchList, BatchObject, BatchStatus } from './batchTypes';
import type { FileStore } from './fileStore';
import { checkInput, type InputLimits } from './inputCheck';

export interface JobOptions extends RunOptions, InputLimits {
  /** From the end of validation to the first request. */
  delayMs: number;
}

const FINAL: readonly BatchStatus[] = ['completed', 'failed', 'expired', 'cancelled'];

/**
 * All batches: small objects in memory, each also a JSON file in `dir`, so that a restarted server
 * goes on with them.
 */
export class BatchJobs {
  private readonly batches = new Map<string, BatchObject>();
  private readonly cancels = new Map<string, AbortController>();

  constructor(
    private readonly dir: string,
    private readonly files: FileStore,
    private readonly options: JobOptions,
  ) {}

  /**
   * Reads what an earlier process left and runs again, from their start, those that had not ended.
   */
  async load(): Promise<void> {
    await mkdir(this.dir, { recursive: true });
    const names = (await readdir(this.dir)).filter((name) => name.endsWith('.json')).sort();
    for (const name of names) {
      const batch = JSON.parse(await readFile(join(this.dir, name), 'utf8')) as BatchObject;
      this.batches.set(batch.id, batch);
      if (!FINAL.includes(batch.status)) {
        this.start(batch);
      }
    }
  }

  /** The batch is on disk when this returns: an answer never names one that a crash can lose. */
  async create(wanted: Pick<BatchObject, 'endpoint' | 'input_file_id' | 'completion_window' | 'metadata'>) {
    // Ids sort by age, also after a restart.
    const id = `batch_${Date.now().toString(16).padStart(12, '0')}${randomBytes(8).toString('hex')}`;
    const batch: BatchObject = {
      id,
      object: 'batch',
      ...wanted,
      status: 'validating',
      output_file_id: null,
      error_file_id: null,
      created_at: Math.floor(Date.now() / 1000),
      ended_at: null,
      request_counts: { total: 0, completed: 0, failed: 0 },
      errors: null,
    };
    this.batches.set(id, batch);
    await this.save(batch);
    this.start(batch);
    return batch;
  }

  get(id: string): BatchObject | undefined {
    return this.batches.get(id);
  }

  /** Newest first; `after` is the last id of the page before. */
  list(limit: number, after: string | null): BatchList {
    const all = [...this.batches.values()].reverse();
    const start = after === null ? 0 : all.findIndex((batch) => batch.id === after) + 1;
    return { object: 'list', data: all.slice(start, start + limit), has_more: start + limit < all.length };
  }

  async cancel(batch: BatchObject): Promise<BatchObject> {
    if (!FINAL.includes(batch.status)) {
      batch.status = 'cancelling';
      this.cancels.get(batch.id)?.abort();
      await this.save(batch);
    }
    return batch;
  }

  private start(batch: BatchObject): void {
    const cancel = new AbortController();
    this.cancels.set(batch.id, cancel);
    this.run(batch, cancel.signal)
      .catch((error: unknown) => this.fail(batch, [{ code: 'server_error', message: String(error), line: null }]))
      .catch((error: unknown) => process.stderr.write(`${batch.id}: ${String(error)}\n`))
      .finally(() => this.cancels.delete(batch.id));
  }

  private async run(batch: BatchObject, cancelled: AbortSignal): Promise<void> {
    const bytes = (await this.files.bytes(batch.input_file_id)) ?? 0;
    const { total, problems } = await checkInput(
      this.files.read(batch.input_file_id),
      bytes,
      batch.endpoint,
      this.options,
    );
    if (problems.length > 0) {
      await this.fail(batch, problems);
      return;
    }
    batch.request_counts = { total, completed: 0, failed: 0 };
    await this.move(batch, 'in_progress');
    await sleep(this.options.delayMs, undefined, { signal: cancelled }).catch(() => undefined);
    const ended = await runBatch(batch, this.files, this.options);
    await this.move(batch, 'finalizing');
    batch.ended_at = Math.floor(Date.now() / 1000);
    batch.status = ended;
    await this.save(batch);
  }

  /** A cancel that came meanwhile stays. */
  private async move(batch: BatchObject, status: BatchStatus): Promise<void> {
    batch.status = batch.status === 'cancelling' ? batch.status : status;
    await this.save(batch);
  }

  private async fail(batch: BatchObject, data: NonNullable<BatchObject['errors']>['data']): Promise<void> {
    batch.errors = { object: 'list', data };
    batch.status = 'failed';
    batch.ended_at = Math.floor(Date.now() / 1000);
    await this.save(batch);
  }

  private async save(batch: BatchObject): Promise<void> {
    const draft = join(this.dir, `${batch.id}.${randomBytes(4).toString('hex')}.draft`);
    await writeFile(draft, JSON.stringify(batch));
    await rename(draft, join(this.dir, `${batch.id}.json`));
  }
}
