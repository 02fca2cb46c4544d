import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { numberFlag, portFlag, processFlags, seedFlag, shareFlag } from '../support/flags';
import { seededRandom } from '../support/random';
import { HttpProblem, readBody, runMain, sendJson, serve } from '../support/server';
import { readBulkBody, type BulkAction } from './bulkBody';
import { Documents, type ItemAnswer } from './documents';

/**
 * An Elasticsearch-style `_bulk` endpoint: NDJSON in, results by position, 429 for single items
 * when its queue is full, 413 above `--max-bytes`, 400 for a body that cannot be read.
 */
const flags = processFlags(
  {
    name: 'node dist/examples/elasticsearch-bulk/downstream.js',
    summary: 'An Elasticsearch-style _bulk endpoint on 127.0.0.1. Prints {"ready":true,"port":N}.',
    examples: ['--port 4477 --busy-rate 0.1'],
  },
  {
    port: portFlag(),
    seed: seedFlag(1),
    'busy-rate': shareFlag(0.02, 'share of items that are answered 429'),
    'call-busy-rate': shareFlag(
      0.02,
      'share of calls that are answered 429 as a whole; like the real one, without Retry-After',
    ),
    'max-bytes': numberFlag(10_000_000, { text: 'largest body, in bytes; above: 413', min: 1, unit: 'bytes' }),
    'latency-ms': numberFlag(5, { text: 'time a call takes, in milliseconds', unit: 'ms' }),
  },
);
const documents = new Documents();
const random = seededRandom(flags.seed);
const counters = { calls: 0, busyCalls: 0, items: 0, busyItems: 0, writes: 0, failedItems: 0, largestBytes: 0 };

function tooBusy(): HttpProblem {
  const error = { type: 'circuit_breaking_exception', reason: 'the node is out of memory for now' };
  return new HttpProblem(429, error.reason, {}, { error: { root_cause: [error], ...error }, status: 429 });
}

function applyOne(action: BulkAction): ItemAnswer {
  counters.items += 1;
  if (random() < flags['busy-rate']) {
    counters.busyItems += 1;
    const error = { type: 'es_rejected_execution_exception', reason: 'rejected execution: queue capacity reached' };
    return { _index: action.index, _id: action.id ?? '', status: 429, error };
  }
  const answer = documents.apply(action);
  counters[answer.error === undefined ? 'writes' : 'failedItems'] += 1;
  return answer;
}

async function bulk(
  request: IncomingMessage,
  response: ServerResponse,
  defaultIndex: string | undefined,
): Promise<void> {
  const started = performance.now();
  const body = await readBody(request, flags['max-bytes']);
  counters.calls += 1;
  counters.largestBytes = Math.max(counters.largestBytes, body.length);
  if (!/^application\/(x-ndjson|json)\b/.test(request.headers['content-type'] ?? '')) {
    throw new HttpProblem(406, `content-type: expected application/x-ndjson, got ${request.headers['content-type']}`);
  }
  const actions = readBulkBody(body.toString(), defaultIndex);
  await sleep(flags['latency-ms']);
  if (random() < flags['call-busy-rate']) {
    counters.busyCalls += 1;
    throw tooBusy();
  }
  const items = actions.map((action) => ({ [action.kind]: applyOne(action) }));
  const errors = items.some((item) => Object.values(item).some((answer) => answer.error !== undefined));
  sendJson(response, 200, { took: Math.round(performance.now() - started), errors, items });
}

async function route(request: IncomingMessage, response: ServerResponse, url: URL): Promise<void> {
  const parts = url.pathname.split('/').slice(1).map(decodeURIComponent);
  const index = parts[0]?.startsWith('_') === true ? undefined : parts.shift();
  const [verb, id] = parts;
  if ((request.method === 'POST' || request.method === 'PUT') && verb === '_bulk') {
    return bulk(request, response, index);
  }
  if (request.method === 'GET' && verb === '_count') {
    return sendJson(response, 200, { count: documents.count(index) });
  }
  if (request.method === 'GET' && verb === '_doc' && index !== undefined && id !== undefined) {
    const found = documents.get(index, id);
    const head = { _index: index, _id: id, found: found !== undefined };
    const rest = found && { _version: found.version, _source: found.source };
    return sendJson(response, found ? 200 : 404, { ...head, ...rest });
  }
  if (request.method === 'GET' && verb === '_example_stats') {
    return sendJson(response, 200, counters);
  }
  throw new HttpProblem(404, `${request.method} ${url.pathname}: no such route`);
}

runMain(() => serve(route, flags.port));
