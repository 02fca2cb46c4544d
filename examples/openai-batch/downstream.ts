import { mkdirSync, mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { finished, pipeline } from 'node:stream/promises';
import { z } from 'zod';
import { numberFlag, portFlag, processFlags, shareFlag, textFlag } from '../support/flags';
import { HttpProblem, readBody, runMain, sendJson, serve } from '../support/server';
import { BatchJobs } from './batchJobs';
import { FileStore } from './fileStore';
import { readUpload } from './multipart';

/**
 * An OpenAI-style batch server: files in, batches of requests, polled until they end, files out.
 * Everything is on disk (`--data-dir`; without it in a temporary folder that goes with the process)
 * and streamed; memory stays flat.
 */
const flags = processFlags(
  {
    name: 'node dist/examples/openai-batch/downstream.js',
    summary: 'An OpenAI-style batch server on 127.0.0.1. Prints {"ready":true,"port":N}.',
    examples: ['--port 4466 --delay-ms 5000 --expire-after 400 --error-rate 0.05'],
  },
  {
    port: portFlag(),
    'data-dir': textFlag(undefined, {
      text: 'keeps files and batches there, and goes on with them',
      as: 'dir',
      unset: 'a temporary one',
    }),
    'delay-ms': numberFlag(2_000, { text: 'time a batch takes, in milliseconds', unit: 'ms' }),
    'expire-after': numberFlag(0, {
      text: 'a batch with more requests expires when so many are done; 0: none expires',
    }),
    'error-rate': shareFlag(0, 'share of requests that are answered 500'),
    'max-requests': numberFlag(50_000, { text: 'most requests of a batch', min: 1 }),
    'max-bytes': numberFlag(200_000_000, { text: 'largest file, in bytes', min: 1, unit: 'bytes' }),
  },
);

const createBody = z.object({
  input_file_id: z.string(),
  endpoint: z.string().startsWith('/v1/'),
  completion_window: z.literal('24h'),
  metadata: z.record(z.string().max(64), z.string().max(512)).default({}),
});
const stats = { uploads: 0, uploadedBytes: 0, creates: 0, downloads: 0, downloadedBytes: 0 };

const dir = flags['data-dir'] ?? mkdtempSync(join(tmpdir(), 'openai-batch-'));
mkdirSync(join(dir, 'files'), { recursive: true });
const files = new FileStore(join(dir, 'files'));
const jobs = new BatchJobs(join(dir, 'batches'), files, {
  delayMs: flags['delay-ms'],
  expireAfter: flags['expire-after'],
  errorRate: flags['error-rate'],
  maxRequests: flags['max-requests'],
  maxBytes: flags['max-bytes'],
});

async function upload(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const boundary = /boundary="?([^";]+)"?/.exec(request.headers['content-type'] ?? '')?.[1];
  if (boundary === undefined) {
    throw new HttpProblem(400, 'content-type: expected multipart/form-data with a boundary');
  }
  const id = files.newId();
  const file = files.write(id);
  const { fields, fileBytes } = await readUpload(request, boundary, file).catch((error: unknown) => {
    file.destroy();
    void files.remove(id);
    throw new HttpProblem(400, error instanceof Error ? error.message : String(error));
  });
  file.end();
  await finished(file);
  if (fields['purpose'] !== 'batch') {
    throw new HttpProblem(400, `purpose: expected "batch", got ${JSON.stringify(fields['purpose'])}`);
  }
  stats.uploads += 1;
  stats.uploadedBytes += fileBytes;
  sendJson(response, 200, { id, object: 'file', bytes: fileBytes, purpose: 'batch' });
}

async function create(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const text = (await readBody(request, 100_000)).toString();
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch (error) {
    throw new HttpProblem(400, `body: expected JSON, ${String(error)}`);
  }
  const wanted = createBody.safeParse(body);
  if (!wanted.success) {
    throw new HttpProblem(400, z.prettifyError(wanted.error));
  }
  if ((await files.bytes(wanted.data.input_file_id)) === undefined) {
    throw new HttpProblem(400, `input_file_id: no such file: ${wanted.data.input_file_id}`);
  }
  stats.creates += 1;
  sendJson(response, 200, await jobs.create(wanted.data));
}

async function download(id: string, response: ServerResponse): Promise<void> {
  const bytes = await files.bytes(id);
  if (bytes === undefined) {
    throw new HttpProblem(404, `no such file: ${id}`);
  }
  stats.downloads += 1;
  response.writeHead(200, { 'content-type': 'application/octet-stream', 'content-length': bytes });
  const source = files.read(id).on('data', (chunk) => (stats.downloadedBytes += chunk.length));
  // A client that breaks off has what it wanted; the stream is closed either way.
  await pipeline(source, response).catch(() => undefined);
}

function existing(id: string) {
  const batch = jobs.get(id);
  if (batch === undefined) {
    throw new HttpProblem(404, `no such batch: ${id}`);
  }
  return batch;
}

async function route(request: IncomingMessage, response: ServerResponse, url: URL): Promise<void> {
  const [, version, noun, id, verb] = url.pathname.split('/');
  const path = `${request.method} /${version}/${noun}${id === undefined ? '' : '/:id'}${verb === undefined ? '' : `/${verb}`}`;
  switch (path) {
    case 'POST /v1/files':
      return upload(request, response);
    case 'GET /v1/files/:id/content':
      return download(id ?? '', response);
    case 'POST /v1/batches':
      return create(request, response);
    case 'GET /v1/batches': {
      const limit = Math.min(100, Math.max(1, Number(url.searchParams.get('limit') ?? 20) || 20));
      return sendJson(response, 200, jobs.list(limit, url.searchParams.get('after')));
    }
    case 'GET /v1/batches/:id':
      return sendJson(response, 200, existing(id ?? ''));
    case 'POST /v1/batches/:id/cancel':
      return sendJson(response, 200, await jobs.cancel(existing(id ?? '')));
    case 'GET /v1/stats':
      return sendJson(response, 200, { ...stats, maxResidentBytes: process.resourceUsage().maxRSS * 1024 });
    default:
      throw new HttpProblem(404, `${request.method} ${url.pathname}: no such route`);
  }
}

async function main(): Promise<void> {
  await jobs.load();
  await serve(route, flags.port, async () => {
    if (flags['data-dir'] === undefined) {
      await rm(dir, { recursive: true, force: true });
    }
  });
}

runMain(main);
