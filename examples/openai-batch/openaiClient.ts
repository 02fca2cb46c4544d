import { call } from '../support/call';
import { lines } from '../support/lines';
import type { BatchList, BatchObject } from './batchTypes';

export interface OpenaiOptions {
  /** Without `/v1`. */
  url: string;
  apiKey: string;
}

/** The six calls of the API that a handler needs. Each throws what `call` throws. */
export class OpenaiClient {
  constructor(private readonly options: OpenaiOptions) {}

  /** Streams a file up as it is produced. */
  async uploadFile(content: Iterable<string>, signal: AbortSignal): Promise<string> {
    const boundary = 'muster-7c1f0b5e9d3a48e2';
    const response = await this.call('/v1/files', {
      method: 'POST',
      headers: { 'content-type': `multipart/form-data; boundary=${boundary}` },
      body: multipartBody(boundary, content),
      duplex: 'half',
      signal,
    });
    return ((await response.json()) as { id: string }).id;
  }

  async createBatch(wanted: object, signal: AbortSignal): Promise<BatchObject> {
    const response = await this.call('/v1/batches', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(wanted),
      signal,
    });
    return (await response.json()) as BatchObject;
  }

  /** Undefined where the API knows no such batch. */
  async getBatch(id: string, signal: AbortSignal): Promise<BatchObject | undefined> {
    const response = await fetch(this.at(`/v1/batches/${encodeURIComponent(id)}`), { ...this.auth(), signal });
    if (response.status === 404) {
      await response.body?.cancel();
      return undefined;
    }
    if (!response.ok) {
      throw new Error(`batch ${id}: ${response.status} ${await response.text()}`);
    }
    return (await response.json()) as BatchObject;
  }

  /** All batches, newest first, a page at a time. */
  async *listBatches(signal: AbortSignal): AsyncGenerator<BatchObject> {
    let after = '';
    for (;;) {
      const response = await this.call(`/v1/batches?limit=100${after}`, { signal });
      const page = (await response.json()) as BatchList;
      yield* page.data;
      const last = page.data.at(-1);
      if (!page.has_more || last === undefined) {
        return;
      }
      after = `&after=${encodeURIComponent(last.id)}`;
    }
  }

  async cancelBatch(id: string, signal: AbortSignal): Promise<void> {
    const response = await this.call(`/v1/batches/${encodeURIComponent(id)}/cancel`, { method: 'POST', signal });
    await response.body?.cancel();
  }

  /** The lines of a result file, one at a time: a file of 200 MB is never in memory. */
  async *fileLines(id: string, signal: AbortSignal): AsyncGenerator<string> {
    const response = await this.call(`/v1/files/${encodeURIComponent(id)}/content`, { signal });
    if (response.body !== null) {
      yield* lines(response.body);
    }
  }

  private call(path: string, init: RequestInit): Promise<Response> {
    return call(this.at(path), { ...init, headers: { ...init.headers, ...this.auth().headers } });
  }

  private at(path: string): string {
    return `${this.options.url}${path}`;
  }

  private auth() {
    return { headers: { authorization: `Bearer ${this.options.apiKey}` } };
  }
}

const CHUNK_CHARACTERS = 65_536;

async function* multipartBody(boundary: string, content: Iterable<string>): AsyncGenerator<Uint8Array> {
  const part = (header: string) => `--${boundary}\r\nContent-Disposition: form-data; ${header}\r\n\r\n`;
  let text = `${part('name="purpose"')}batch\r\n${part('name="file"; filename="muster.jsonl"')}`;
  for (const piece of content) {
    text += piece;
    if (text.length >= CHUNK_CHARACTERS) {
      yield Buffer.from(text);
      text = '';
    }
  }
  yield Buffer.from(`${text}\r\n--${boundary}--\r\n`);
}
