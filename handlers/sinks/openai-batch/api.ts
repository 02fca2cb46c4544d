import { randomUUID } from 'node:crypto';
import { readLines } from '../../http/body';
import { isSuccess, readJson } from '../../http/read';
import { show } from '../../text';
import type { HttpCaller } from '../http/caller';
import { ANSWER_BYTES_MAX, NOT_FOUND } from '../http/caller';

/** A batch, as far as a sink reads it. */
export interface OpenaiBatch {
  id: string;
  status: string;
  output_file_id?: string | null;
  error_file_id?: string | null;
  /** Unix seconds. */
  created_at: number;
  errors?: { data?: { code?: string; message?: string; line?: number | null }[] } | null;
  metadata?: Record<string, string> | null;
}

/** As many as the results of one batch may have in Muster. */
const FILE_BYTES_MAX = 1_000_000_000;
const PAGE = 100;

/** The calls of the API that the sink makes. Each throws what `HttpCaller.call` throws. */
export class OpenaiApi {
  constructor(private readonly caller: HttpCaller) {}

  /** Uploads the lines of a batch, and returns the id of the file. */
  async upload(lines: string, signal: AbortSignal): Promise<string> {
    // A line break is escaped within JSON, so that no payload can hold the boundary's.
    const boundary = `muster-${randomUUID()}`;
    const part = (header: string): string => `--${boundary}\r\nContent-Disposition: form-data; ${header}\r\n\r\n`;
    const purpose = `${part('name="purpose"')}batch\r\n`;
    const file = `${part('name="file"; filename="muster.jsonl"')}${lines}\r\n`;
    const body = `${purpose}${file}--${boundary}--\r\n`;
    const headers = { 'content-type': `multipart/form-data; boundary=${boundary}` };
    const { id } = await this.json<{ id?: unknown }>('POST', '/v1/files', signal, body, headers);
    if (typeof id !== 'string') throw new Error(`unreadable answer: expected the id of a file, got ${show(id)}`);
    return id;
  }

  async create(wanted: object, signal: AbortSignal): Promise<OpenaiBatch> {
    const headers = { 'content-type': 'application/json' };
    const batch = await this.json<OpenaiBatch>('POST', '/v1/batches', signal, JSON.stringify(wanted), headers);
    if (typeof batch.id !== 'string') throw new Error(`unreadable answer: expected a batch, got ${show(batch)}`);
    return batch;
  }

  /** Returns a batch; undefined: the API knows none of that id. */
  async get(id: string, signal: AbortSignal): Promise<OpenaiBatch | undefined> {
    const answer = await this.caller.send({ method: 'GET', path: `/v1/batches/${encodeURIComponent(id)}`, signal });
    if (answer.statusCode === NOT_FOUND) return undefined;
    if (!isSuccess(answer)) throw new Error(`batch ${id}: HTTP ${answer.statusCode}`);
    return (await readJson(this.reader, answer)) as OpenaiBatch;
  }

  /** Yields all batches, newest first. */
  async *list(signal: AbortSignal): AsyncGenerator<OpenaiBatch> {
    for (let after = ''; ;) {
      const path = `/v1/batches?limit=${PAGE}${after}`;
      const page = await this.json<{ data: OpenaiBatch[]; has_more: boolean }>('GET', path, signal);
      yield* page.data;
      const last = page.data.at(-1);
      if (!page.has_more || last === undefined) return;
      after = `&after=${encodeURIComponent(last.id)}`;
    }
  }

  /** Says whether the batch was stopped; false: it had ended, or is not known. */
  async cancel(id: string, signal: AbortSignal): Promise<boolean> {
    const path = `/v1/batches/${encodeURIComponent(id)}/cancel`;
    const answer = await this.caller.send({ method: 'POST', path, signal });
    if (isSuccess(answer)) return true;
    if (answer.statusCode === NOT_FOUND || answer.statusCode === 409 || answer.statusCode === 400) return false;
    throw new Error(`batch ${id}: HTTP ${answer.statusCode}`);
  }

  /** Yields the lines of a file, one at a time. */
  async *lines(fileId: string, signal: AbortSignal): AsyncGenerator<unknown> {
    const path = `/v1/files/${encodeURIComponent(fileId)}/content`;
    const answer = await this.caller.call({ method: 'GET', path, signal });
    yield* readLines(answer.body, FILE_BYTES_MAX);
  }

  private get reader() {
    return { maxResponseBytes: ANSWER_BYTES_MAX, secrets: this.caller.secrets };
  }

  private async json<T>(
    method: 'GET' | 'POST',
    path: string,
    signal: AbortSignal,
    body?: string,
    headers?: Readonly<Record<string, string>>,
  ): Promise<T> {
    const answer = await this.caller.call({ method, path, signal, body, headers });
    return ((await readJson(this.reader, answer)) ?? {}) as T;
  }
}
