import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Pool } from 'pg';
import { z } from 'zod';
import { neededTextFlag, numberFlag, portFlag, processFlags, seedFlag, shareFlag, textFlag } from '../support/flags';
import { seededRandom } from '../support/random';
import { HttpProblem, readBody, runMain, sendJson, serve } from '../support/server';
import { CityStore, type IndexItem } from './cityStore';
import { rejection } from './rejection';

/**
 * A bulk index as a separate process, with its own schema in Postgres: at most `--limit` items a
 * call (413 above), an answer kept per `Idempotency-Key`, 429 with Retry-After now and then, and a
 * few records that it never accepts.
 */
const flags = processFlags(
  {
    name: 'node dist/examples/demo/downstream.js',
    summary: 'A bulk index on 127.0.0.1, with its own schema in Postgres. Prints {"ready":true,"port":N}.',
    examples: ['--port 4455 --database-url postgres://user:password@host/database'],
  },
  {
    port: portFlag(),
    'database-url': neededTextFlag({
      text: 'the Postgres database to index into',
      as: 'url',
      env: 'CITY_INDEX_DATABASE_URL',
    }),
    schema: textFlag('city_index', { text: 'schema of its tables', as: 'name' }),
    seed: seedFlag(1),
    'latency-ms': numberFlag(5, { text: 'time a call takes besides the database, in milliseconds', unit: 'ms' }),
    limit: numberFlag(500, { text: 'most items of a call; above: 413', min: 1 }),
    'busy-rate': shareFlag(0.03, 'share of calls that are answered 429'),
    'retry-after-s': numberFlag(1, { text: 'Retry-After of these answers, in seconds', unit: 's' }),
  },
);

const bulkBody = z.object({
  items: z.array(z.object({ id: z.string().min(1), doc: z.record(z.string(), z.unknown()) })).min(1),
});
const MAX_BODY_BYTES = 8_000_000;

const counters = { calls: 0, items: 0, largestCall: 0, refused: 0, replays: 0, rejected: 0 };
const random = seededRandom(flags.seed);

async function readItems(request: IncomingMessage): Promise<IndexItem[]> {
  const text = (await readBody(request, MAX_BODY_BYTES)).toString();
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch (error) {
    throw new HttpProblem(400, `body: expected JSON, ${String(error)}`);
  }
  const parsed = bulkBody.safeParse(body);
  if (!parsed.success) {
    throw new HttpProblem(400, z.prettifyError(parsed.error));
  }
  const { items } = parsed.data;
  if (items.length > flags.limit) {
    throw new HttpProblem(413, `items: expected at most ${flags.limit}, got ${items.length}`);
  }
  if (new Set(items.map((item) => item.id)).size < items.length) {
    throw new HttpProblem(400, 'items: expected distinct ids in one call');
  }
  return items;
}

async function bulk(store: CityStore, country: string, request: IncomingMessage, response: ServerResponse) {
  counters.calls += 1;
  const items = await readItems(request);
  await sleep(flags['latency-ms']);
  if (random() < flags['busy-rate']) {
    counters.refused += 1;
    throw new HttpProblem(429, 'busy', { 'retry-after': String(flags['retry-after-s']) });
  }
  const answers = items.map((item) => {
    const error = rejection(item.doc);
    return error === undefined ? { id: item.id, status: 201 } : { id: item.id, status: 422, error };
  });
  const accepted = items.filter((item) => rejection(item.doc) === undefined);
  const header = request.headers['idempotency-key'];
  const key = typeof header === 'string' ? header : randomUUID();
  const outcome = await store.index(key, country, accepted, JSON.stringify({ items: answers }));
  if (outcome.kind === 'key-reused') {
    throw new HttpProblem(422, `idempotency-key ${key}: this key came before with another content`);
  }
  if (outcome.kind === 'replay') {
    counters.replays += 1;
  } else {
    counters.items += accepted.length;
    counters.rejected += items.length - accepted.length;
    counters.largestCall = Math.max(counters.largestCall, items.length);
  }
  sendJson(response, 200, JSON.parse(outcome.answer));
}

async function main(): Promise<void> {
  const pool = new Pool({ connectionString: flags['database-url'], max: 8 });
  pool.on('error', (error) => process.stderr.write(`database connection lost: ${error.message}\n`));
  const store = new CityStore(pool, flags.schema);
  await store.prepare();
  await serve(
    async (request, response, url) => {
      const country = /^\/index\/([^/]+)\/_bulk$/.exec(url.pathname)?.[1];
      if (request.method === 'POST' && country !== undefined) {
        await bulk(store, decodeURIComponent(country), request, response);
      } else if (request.method === 'GET' && url.pathname === '/stats') {
        sendJson(response, 200, { ...counters, ...(await store.counts()) });
      } else {
        throw new HttpProblem(404, `${request.method} ${url.pathname}: no such route`);
      }
    },
    flags.port,
    () => pool.end(),
  );
}

runMain(main);
