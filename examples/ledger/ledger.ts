import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { z } from 'zod';
import { numberFlag, portFlag, processFlags, seedFlag, shareFlag, switchFlag, textFlag } from '../support/flags';
import { seededRandom } from '../support/random';
import { HttpProblem, readBody, runMain, sendJson, serve } from '../support/server';
import { Book } from './book';
import { editSchema } from './edits';
import { type Entry, Journal } from './journal';

/**
 * A ledger as a separate process. It accepts batches of edits and applies each, whole, some time
 * later. What it accepted is in memory only and lost when it dies; what it applied or refused is in
 * `--file`, in order, on disk before any caller is told.
 *
 *     POST /services/:service/batches   Idempotency-Key, {items, callback?}   202 {status: accepted, reference} · 200 ended · 429 full
 *     POST /status {references}         {statuses: {reference: {status, receipts?}}}   pending · valid · committed · invalid · lost
 *     GET  /batches/:key                {outcome: done | accepted | absent, ...}   by idempotency key
 *     GET  /state · GET /order?service= · GET /stats
 */
const flags = processFlags(
  {
    name: 'node dist/examples/ledger/ledger.js',
    summary:
      'The ledger on 127.0.0.1: takes batches, commits them later, forgets what was pending when it dies. Prints {"ready":true,"port":N}.',
    examples: ['--file ledger.ndjson --commit-ms 250', '--keep-order'],
  },
  {
    port: portFlag(),
    file: textFlag(undefined, { text: 'its journal', as: 'file', unset: 'a temporary one' }),
    'commit-ms': numberFlag(250, { text: 'time to a commit, in milliseconds', unit: 'ms' }),
    jitter: shareFlag(
      0.5,
      'a commit takes --commit-ms times 1 - jitter to 1 + jitter: so that order is not kept by chance',
    ),
    seed: seedFlag(1),
    'pending-limit': numberFlag(1_000, { text: 'batches of one service that are pending at once; above: 429', min: 1 }),
    'retry-after-s': numberFlag(1, { text: 'Retry-After of these answers, in seconds', unit: 's' }),
    'keep-order': switchFlag("guaranteed order: a service's batches are applied as they were accepted"),
    'no-dedupe': switchFlag('a batch that comes twice is applied twice'),
  },
);

const batchBody = z.object({ items: z.array(editSchema).min(1).max(10_000), callback: z.url().optional() });
const statusBody = z.object({ references: z.array(z.string()).min(1).max(10_000) });
const MAX_BODY_BYTES = 8_000_000;

async function readJson<T>(request: IncomingMessage, schema: z.ZodType<T>): Promise<T> {
  let body: unknown;
  try {
    body = JSON.parse((await readBody(request, MAX_BODY_BYTES)).toString());
  } catch (error) {
    throw error instanceof HttpProblem ? error : new HttpProblem(400, `body: expected JSON, ${String(error)}`);
  }
  const parsed = schema.safeParse(body);
  if (!parsed.success) throw new HttpProblem(400, z.prettifyError(parsed.error));
  return parsed.data;
}

/** Applies what is due, when it is due. */
class Clockwork {
  private timer: NodeJS.Timeout | null = null;
  constructor(private readonly book: Book) {}

  wind(): void {
    if (this.timer !== null) clearTimeout(this.timer);
    const inMs = this.book.nextInMs(Date.now());
    this.timer = inMs === null ? null : setTimeout(() => this.strike(), Math.ceil(inMs));
  }

  private strike(): void {
    for (const { entry, callback } of this.book.commit(Date.now())) if (callback !== null) void call(callback, entry);
    this.wind();
  }
}

/** Once: who does not hear it asks for the status. */
async function call(url: string, { key, reference, service, status, receipts }: Entry): Promise<void> {
  const body = JSON.stringify({ key, reference, service, status, results: receipts });
  const headers = { 'content-type': 'application/json' };
  await fetch(url, { method: 'POST', headers, body, signal: AbortSignal.timeout(5_000) }).then(
    (response) => response.body?.cancel(),
    (error: unknown) => process.stderr.write(`callback ${url} failed: ${String(error)}\n`),
  );
}

async function submit(
  book: Book,
  clockwork: Clockwork,
  service: string,
  request: IncomingMessage,
  response: ServerResponse,
) {
  const key = request.headers['idempotency-key'];
  if (typeof key !== 'string' || key === '')
    throw new HttpProblem(400, 'idempotency-key: expected the id of the batch, got none');
  const { items, callback = null } = await readJson(request, batchBody);
  const answer = book.submit({ key, service, edits: items, callback }, Date.now());
  clockwork.wind();
  switch (answer.kind) {
    case 'full': {
      const headers = { 'retry-after': String(flags['retry-after-s']) };
      throw new HttpProblem(429, `service ${service}: ${flags['pending-limit']} batches are pending`, headers);
    }
    case 'ended': {
      const { status, reference, receipts } = answer.entry;
      return sendJson(response, 200, { status, reference, results: receipts });
    }
    case 'accepted':
      return sendJson(response, 202, { status: 'accepted', reference: answer.reference, repeated: answer.repeated });
  }
}

function lookUp(book: Book, key: string) {
  const found = book.find(key);
  if (found === null) return { outcome: 'absent' };
  if (!('status' in found)) return { outcome: 'accepted', reference: found.reference };
  return { outcome: 'done', reference: found.reference, status: found.status, results: found.receipts };
}

async function route(book: Book, clockwork: Clockwork, request: IncomingMessage, response: ServerResponse, url: URL) {
  const [, noun, name, verb] = url.pathname.split('/').map((part) => decodeURIComponent(part));
  switch (`${request.method} /${noun}${name === undefined ? '' : '/:name'}${verb === undefined ? '' : `/${verb}`}`) {
    case 'POST /services/:name/batches':
      return submit(book, clockwork, name!, request, response);
    case 'POST /status': {
      const { references } = await readJson(request, statusBody);
      const now = Date.now();
      const statuses = references.map((reference) => [reference, book.stateOf(reference, now)] as const);
      return sendJson(response, 200, { statuses: Object.fromEntries(statuses) });
    }
    case 'GET /batches/:name':
      return sendJson(response, 200, lookUp(book, name!));
    case 'GET /state':
      return sendJson(response, 200, book.state());
    case 'GET /order': {
      const service = url.searchParams.get('service');
      return sendJson(
        response,
        200,
        service === null ? book.applied : book.applied.filter((one) => one.service === service),
      );
    }
    case 'GET /stats':
      return sendJson(response, 200, { ...book.counters, pending: book.pending });
    default:
      throw new HttpProblem(404, `${request.method} ${url.pathname}: no such route`);
  }
}

async function main(): Promise<void> {
  const folder = flags.file === undefined ? mkdtempSync(join(tmpdir(), 'ledger-')) : null;
  const path = flags.file ?? join(folder!, 'ledger.ndjson');
  const { journal, entries } = Journal.open(path);
  const book = new Book(journal, entries, {
    commitMs: flags['commit-ms'],
    jitter: flags.jitter,
    keepsOrder: flags['keep-order'],
    dedupes: !flags['no-dedupe'],
    pendingLimit: flags['pending-limit'],
    random: seededRandom(flags.seed),
  });
  const clockwork = new Clockwork(book);
  const stop = async () => {
    journal.close();
    if (folder !== null) rmSync(folder, { recursive: true });
  };
  await serve((request, response, url) => route(book, clockwork, request, response, url), flags.port, stop);
}

runMain(main);
