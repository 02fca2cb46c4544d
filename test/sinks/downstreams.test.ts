import { openaiBatchSink } from '../../handlers/sinks/openai-batch';
import { opensearchSink } from '../../handlers/sinks/opensearch';
import {
  buildBatch,
  buildContext,
  collect,
  countByStatus,
  Examples,
  getJson,
  outcomeOf,
  referenceOf,
  until,
} from '../examples/helpers';
import { present, startWith, taskEnds, untilEnded } from '../examples/throughMuster';
import type { TestMuster } from '../helpers/muster';
import { expectWhole } from '../helpers/whole';

/** The sinks of HTTP against the processes of the examples, and one through all of Muster. @slow */

const examples = new Examples();
let muster: TestMuster | undefined;
afterAll(async () => {
  await muster?.stop();
  await examples.stopAll();
});

test('OpenSearch through Muster: what is busy is sent again, and a misfit fails alone', async () => {
  const rates = ['--busy-rate', '0.2', '--call-busy-rate', '0.1'];
  const { url } = await examples.start('elasticsearch-bulk/downstream', rates);
  muster = await startWith([opensearchSink({ name: 'search', url, linger: { lingerMs: 50 } })]);
  const books = Array.from({ length: 120 }, (_, n) => ({
    id: `book ${n}/ä`,
    payload: { index: 'books', document: { title: `Title "${n}"`, year: n === 60 ? 'about 1000' : 1900 + n } },
  }));
  const gone = { id: 'gone', payload: { index: 'books', id: 'book-that-never-was' } };
  // The first document of an index decides the types of its fields.
  await muster.client.submit('search', [books[0]!]);
  await untilEnded(muster, 1);
  await muster.client.submit('search', [...books.slice(1), gone]);
  expect(present(await untilEnded(muster, 121))).toEqual({ succeeded: 120, failed: 1 });
  expect((await taskEnds(muster)).get('book 60/ä')).toMatchObject({
    state: 'failed',
    error: expect.stringContaining('document_parsing_exception'),
  });
  expect(await getJson(`${url}/books/_count`)).toEqual({ count: 119 });
  await expectWhole(muster.client);
});

test('OpenAI: accepted, then polled; a refused request fails alone, and a create is found by its key', async () => {
  const { url } = await examples.start('openai-batch/downstream', ['--delay-ms', '50']);
  const handler = openaiBatchSink({ name: 'chat', url, apiKey: 'local' });
  const payloads = Array.from({ length: 5 }, (_, n) => ({
    model: 'small',
    messages: [{ role: 'user', content: n === 2 ? '' : `question ${n}: ä` }],
  }));
  const batch = buildBatch(handler, payloads, (n) => `question "${n}"`);
  const context = buildContext('muster-key-1');
  const reference = referenceOf(await handler.submit(batch, context));
  const ask = async () => (await handler.status!([reference], context))[0]!;
  expect((await until(ask, ({ status }) => status !== 'pending')).status).toBe('done');
  const results = await collect(handler.results!(reference, context));
  expect(countByStatus(results)).toEqual({ ok: 4, failed: 1 });
  expect(results.find(({ status }) => status === 'failed')?.id).toBe('question "2"');
  expect(await handler.reconcile!(batch, context)).toEqual({ status: 'accepted', reference });
  expect(await handler.reconcile!(batch, buildContext('another'))).toEqual({ status: 'absent' });
});

test('OpenAI: a create whose answer was lost is unknown, and nothing of it is sent again', async () => {
  const { url } = await examples.start('openai-batch/downstream', ['--delay-ms', '50']);
  const proxy = await examples.lossyProxy(url, 1, 'POST /v1/batches');
  const handler = openaiBatchSink({ name: 'chat', url: proxy.url, apiKey: 'local' });
  const batch = buildBatch(handler, [{ model: 'small', messages: [{ role: 'user', content: 'hello' }] }]);
  const context = buildContext('muster-key-2');
  expect(await outcomeOf(handler, batch, context)).toMatchObject({ kind: 'unknown' });
  expect(await handler.reconcile!(batch, context)).toMatchObject({ status: 'accepted' });
});
