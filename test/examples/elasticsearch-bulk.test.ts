import { faultsIn } from '../handlers/build';
import { readFileSync } from 'node:fs';
import { checkHandlers, type Handler } from '../../handlers';
import type { ExampleProcess } from '../../examples/support/child';
import {
  buildBatch,
  buildContext,
  countByStatus,
  Examples,
  getJson,
  outcomeOf,
  resultsOf,
  sampleTasks,
} from './helpers';
import { sourcePath } from './paths';

interface Payload {
  index: string;
  document: Record<string, unknown>;
}
interface Stats {
  calls: number;
  items: number;
  busyItems: number;
  writes: number;
}

const examples = new Examples();
afterAll(() => examples.stopAll());

const startDownstream = (...args: string[]): Promise<ExampleProcess> =>
  examples.start('elasticsearch-bulk/downstream', [
    '--busy-rate',
    '0',
    '--call-busy-rate',
    '0',
    '--latency-ms',
    '0',
    ...args,
  ]);

/** The handler as the JSON file has it, but for where the downstream listens. */
function handlerFor(url: string): Handler {
  const text = readFileSync(sourcePath('examples/elasticsearch-bulk/muster.config.json'), 'utf8');
  const [handler] = checkHandlers(JSON.parse(text.replaceAll('http://127.0.0.1:4477', url)));
  if (handler === undefined) {
    throw new Error('muster.config.json: expected a handler, got none');
  }
  return handler;
}

const books = (count: number): Payload[] =>
  Array.from({ length: count }, (_, index) => ({ index: 'books', document: { title: `Book ${index}`, pages: index } }));

describe('es-index', () => {
  it('comes from its JSON alone [H10]', () => {
    const handler = handlerFor('http://127.0.0.1:1');
    const payload = { index: 'books', document: { title: 'Middlemarch' } };
    expect(handler).toMatchObject({
      name: 'es-index',
      limits: { maxItems: 1000, maxBytes: 5_000_000 },
      idempotency: { by: 'task' },
    });
    expect(handler.target(payload)).toBe('books');
    expect(handler.preview?.(buildBatch(handler, [payload], () => 'book-1')).body).toBe(
      '{"index":{"_index":"books","_id":"book-1"}}\n{"title":"Middlemarch"}\n',
    );
    expect(faultsIn(handler, { index: '../up', document: {} })).not.toEqual([]);
  });

  it('results by position: a document that does not fit its index fails alone [H1]', async () => {
    const downstream = await startDownstream();
    const handler = handlerFor(downstream.url);
    const payloads = books(50).map((book, index) =>
      index === 20 ? { ...book, document: { title: 'x', pages: 'many' } } : book,
    );

    const results = await resultsOf(await handler.submit(buildBatch(handler, payloads), buildContext()));

    expect(countByStatus(results)).toEqual({ ok: 49, failed: 1 });
    expect(results[20]).toMatchObject({
      index: 20,
      status: 'failed',
      error: expect.stringContaining('failed to parse field [pages]'),
    });
    expect(await getJson(`${downstream.url}/books/_count`)).toEqual({ count: 49 });
    expect(await getJson(`${downstream.url}/books/_doc/task-7`)).toMatchObject({
      found: true,
      _source: { title: 'Book 7' },
    });
  });

  it('429 for single items is a retry of those, until all are in [H1]', async () => {
    const downstream = await startDownstream('--busy-rate', '0.3', '--seed', '7');
    const handler = handlerFor(downstream.url);
    let rest = books(200).map((payload, index) => ({ id: `book-${index}`, payload }));
    const statuses = new Set<string>();
    let rounds = 0;
    for (; rounds < 50 && rest.length > 0; rounds += 1) {
      const sent = rest;
      const batch = buildBatch(
        handler,
        sent.map((task) => task.payload),
        (index) => sent[index]?.id ?? '',
      );
      const results = await resultsOf(await handler.submit(batch, buildContext()));
      results.forEach((result) => statuses.add(result.status));
      const again = new Set(results.filter((result) => result.status === 'retry').map((result) => result.index));
      rest = sent.filter((_, index) => again.has(index));
    }
    expect([...statuses].sort()).toEqual(['ok', 'retry']);
    expect(rounds).toBeGreaterThan(1);
    const stats = await getJson<Stats>(`${downstream.url}/_example_stats`);
    expect(stats.writes).toBe(200);
    expect(stats.items).toBe(200 + stats.busyItems);
    expect(await getJson(`${downstream.url}/_count`)).toEqual({ count: 200 });
  });

  it('a lost answer is had again by sending the same ids: the same documents, one each [H3]', async () => {
    const downstream = await startDownstream();
    const handler = handlerFor((await examples.lossyProxy(downstream.url, 2)).url);
    const batch = buildBatch(handler, books(30));
    await handler.submit(
      buildBatch(handler, books(1), () => 'other'),
      buildContext(),
    );

    const lost = await outcomeOf(handler, batch);
    const again = await resultsOf(await handler.submit(batch, buildContext()));

    expect(lost.kind).toBe('unknown');
    expect(countByStatus(again)).toEqual({ ok: 30 });
    expect(again[0]).toMatchObject({ result: 2 });
    expect(await getJson(`${downstream.url}/books/_count`)).toEqual({ count: 31 });
  });

  it('429 for the whole call holds the handler, and nothing is applied [H5]', async () => {
    const downstream = await startDownstream('--call-busy-rate', '1');
    const handler = handlerFor(downstream.url);
    expect(await outcomeOf(handler, buildBatch(handler, books(3)))).toMatchObject({ kind: 'later', scope: 'handler' });
    expect(await getJson(`${downstream.url}/_count`)).toEqual({ count: 0 });
  });

  it('413 is about the content, 404 about the address [H4]', async () => {
    const downstream = await startDownstream('--max-bytes', '2000');
    const kindOf = async (url: string, payloads: Payload[]) => {
      const handler = handlerFor(url);
      return (await outcomeOf(handler, buildBatch(handler, payloads))).kind;
    };
    expect(await kindOf(downstream.url, books(1))).toBe('results');
    expect(await kindOf(downstream.url, books(100))).toBe('rejected');
    expect(await kindOf(`${downstream.url}/elsewhere/_nowhere`, books(1))).toBe('halted');
  });

  it('the bytes it counts are at least those it sends [H6]', () => {
    const handler = handlerFor('http://127.0.0.1:1');
    const batch = buildBatch(handler, books(500));
    const counted = batch.tasks.reduce(
      (sum, task) => sum + handler.bytesOf(task.payload, task.id),
      handler.limits.overheadBytes,
    );
    expect(counted).toBeGreaterThanOrEqual(Buffer.byteLength(handler.preview?.(batch).body ?? ''));
  });

  it('its sample file fits its schema, and the one odd year is refused by the index alone', async () => {
    const downstream = await startDownstream();
    const handler = handlerFor(downstream.url);
    const tasks = sampleTasks<Payload>('examples/elasticsearch-bulk/tasks.ndjson');
    expect(tasks.filter((task) => faultsIn(handler, task.payload).length > 0)).toEqual([]);
    const ofBooks = tasks.filter((task) => task.payload.index === 'books');
    const batch = buildBatch(
      handler,
      ofBooks.map((task) => task.payload),
      (index) => ofBooks[index]?.id ?? '',
    );
    const results = await resultsOf(await handler.submit(batch, buildContext()));
    expect(results.map((result) => result.status)).toEqual(['ok', 'ok', 'ok', 'ok', 'failed', 'ok']);
  });
});

describe('the bulk endpoint', () => {
  const bulk = async (url: string, body: string) => {
    const headers = { 'content-type': 'application/x-ndjson' };
    const response = await fetch(`${url}/books/_bulk`, { method: 'POST', headers, body });
    return {
      status: response.status,
      answer: (await response.json()) as { items: object[]; error?: { reason: string } },
    };
  };

  it('knows create and delete, and answers by position', async () => {
    const { url } = await startDownstream();
    const body = [
      '{"index":{"_id":"a"}}',
      '{"n":1}',
      '{"create":{"_id":"a"}}',
      '{"n":2}',
      '{"delete":{"_id":"a"}}',
      '{"delete":{"_id":"a"}}',
    ];
    const { answer } = await bulk(url, `${body.join('\n')}\n`);
    expect(answer.items).toEqual([
      { index: { _index: 'books', _id: 'a', _version: 1, result: 'created', status: 201 } },
      {
        create: {
          _index: 'books',
          _id: 'a',
          status: 409,
          error: expect.objectContaining({ type: 'version_conflict_engine_exception' }),
        },
      },
      { delete: { _index: 'books', _id: 'a', status: 200, result: 'deleted' } },
      { delete: { _index: 'books', _id: 'a', status: 404, result: 'not_found' } },
    ]);
  });

  it.each([
    ['{"index":{}}\n{"n":1}', 'must be terminated by a newline'],
    ['{"index":{}}\n', 'line [1]: expected the document after its action'],
    ['{"n":1}\n', 'Malformed action/metadata line [1]'],
    ['{"index":{}}\n{"n":1}\nnot json\n', 'Malformed action/metadata line [3]'],
    ['\n', 'Malformed action/metadata line [1]'],
  ])('refuses %j as a whole', async (body, reason) => {
    const { url } = await startDownstream();
    const { status, answer } = await bulk(url, body);
    expect({ status, reason: answer.error?.reason }).toEqual({ status: 400, reason: expect.stringContaining(reason) });
    expect(await getJson(`${url}/_count`)).toEqual({ count: 0 });
  });
});
