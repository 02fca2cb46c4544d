import { callHandler, httpHandler } from '../../handlers';
import { buildBatch, buildContext, errorIn, remember, faultsIn } from './build';
import type { Downstream, Seen } from './downstream';
import { json, startDownstream } from './downstream';

/**
 * An Elasticsearch-style `_bulk` from JSON alone: NDJSON, results by position, each under the name
 * of its action, 429 per item.
 */
const bulk = (url: string): unknown =>
  JSON.parse(
    JSON.stringify({
      kind: 'http',
      name: 'search-index',
      target: 'index',
      limits: { maxItems: 1_000, maxBytes: 5_000_000 },
      idempotency: { by: 'task' },
      request: {
        url: `${url}/{{target}}/_bulk`,
        headers: { Authorization: { env: 'ES_KEY', prefix: 'ApiKey ' } },
        encode: 'ndjson',
        item: [{ index: { _id: '{{id}}' } }, '{{payload.document}}'],
      },
      response: {
        results: 'items',
        matchBy: 'position',
        status: { path: '*.status' },
        error: '*.error.reason',
        result: '*._version',
      },
    }),
  );

let downstream: Downstream;
beforeAll(async () => {
  downstream = await startDownstream();
});
afterAll(() => downstream.close());

interface Line {
  index?: { _id: string };
  title?: string;
}

/**
 * What Elasticsearch does with these lines: `busy` documents are refused for now, `bad` ones for
 * good.
 */
const itemFor = (action: Line, document: Line): unknown => {
  const { _id } = action.index!;
  if (document.title === 'busy')
    return { index: { _id, status: 429, error: { type: 'es_rejected_execution_exception', reason: 'queue is full' } } };
  if (document.title === 'bad')
    return { index: { _id, status: 400, error: { type: 'mapper_parsing_exception', reason: 'cannot parse' } } };
  return { index: { _id, status: 201, _version: 1 } };
};

const search = (seen: Seen): unknown => {
  const lines = seen.body
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Line);
  const items = lines.flatMap((line, at) => (at % 2 === 0 ? [itemFor(line, lines[at + 1]!)] : []));
  return { took: 3, errors: true, items };
};

test('_bulk by JSON alone: 429 for one item is that item’s retry, 400 its failure (H1, H10)', async () => {
  downstream.answer = (response, seen, request) => json(200, search(seen))(response, seen, request);
  const handler = httpHandler(bulk(downstream.url), { env: { ES_KEY: 'es-secret' } });
  const payloads = ['one', 'busy', 'bad', 'line\nbreak'].map((title) => ({ index: 'books', document: { title } }));
  for (const payload of payloads) expect(faultsIn(handler, payload)).toEqual([]);
  expect(handler.target(payloads[0])).toBe('books');

  const sink = remember();
  expect(await callHandler(handler, buildBatch<unknown>(payloads, 'books'), buildContext(), sink)).toEqual({
    kind: 'results',
    deviants: [
      { index: 1, status: 'retry', error: 'queue is full' },
      { index: 2, status: 'failed', error: 'cannot parse' },
    ],
  });
  expect([...sink.kept]).toEqual([
    [0, 1],
    [3, 1],
  ]);
  expect(downstream.seen[0]).toMatchObject({
    url: '/books/_bulk',
    headers: { authorization: 'ApiKey es-secret', 'content-type': 'application/x-ndjson' },
    body: [
      '{"index":{"_id":"t0"}}\n{"title":"one"}\n',
      '{"index":{"_id":"t1"}}\n{"title":"busy"}\n',
      '{"index":{"_id":"t2"}}\n{"title":"bad"}\n',
      '{"index":{"_id":"t3"}}\n{"title":"line\\nbreak"}\n',
    ].join(''),
  });
});

test('a whole _bulk refused with 429 waits, and an answer of another length is unknown', async () => {
  const handler = httpHandler(bulk(downstream.url), { env: { ES_KEY: 'es-secret' } });
  const batch = buildBatch<unknown>([{ index: 'books', document: {} }], 'books');
  downstream.answer = json(429, { error: 'circuit_breaking_exception' }, { 'retry-after': '2' });
  expect(await callHandler(handler, batch, buildContext(), remember())).toMatchObject({
    kind: 'later',
    retryAfterMs: 2_000,
  });
  downstream.answer = json(200, { items: [] });
  const outcome = await callHandler(handler, batch, buildContext(), remember());
  expect(errorIn(outcome)).toContain('expected 1 results, one per position, got 0');
});
