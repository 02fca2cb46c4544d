import { chatBatchHandler, type ChatPayload } from '../../examples/openai-batch/handler';
import type { BatchList } from '../../examples/openai-batch/batchTypes';
import type { ExampleProcess } from '../../examples/support/child';
import type { TestMuster } from '../helpers/muster';
import { Examples, getJson } from './helpers';
import { present, startWith, taskEnds, untilEnded } from './throughMuster';

/** @full */

/**
 * An OpenAI-style batch API through the whole of Muster: accepted, asked about by the monitor,
 * results streamed.
 */
const examples = new Examples();
let muster: TestMuster | undefined;
afterEach(async () => {
  await muster?.stop();
  muster = undefined;
});
afterAll(() => examples.stopAll());

const startDownstream = (...args: string[]): Promise<ExampleProcess> =>
  examples.start('openai-batch/downstream', ['--delay-ms', '300', ...args]);

async function start(url: string): Promise<TestMuster> {
  const handler = chatBatchHandler({ url, apiKey: 'test', everyMs: 200, absentAfterMs: 500 });
  // Real batches linger for a minute; here a second must do, and a retry must not wait longer than
  // that.
  const quick = { linger: { lingerMs: 1_000 }, retry: { ...handler.retry, delayed: { baseMs: 100, maxMs: 200 } } };
  muster = await startWith([{ ...handler, ...quick }]);
  return muster;
}

const question = (n: number, content = `What is ${n} + ${n}?`): { id: string; payload: ChatPayload } => ({
  id: `question-${n}`,
  payload: { model: 'gpt-test', messages: [{ role: 'user', content }] },
});
const questions = (count: number) => Array.from({ length: count }, (_, n) => question(n));

async function batchesOf(url: string) {
  return (await getJson<BatchList>(`${url}/v1/batches?limit=100`)).data;
}

test('2,000 members: one batch, accepted, asked about until it is done, each answer with its task [H7]', async () => {
  const { url } = await startDownstream();
  const { client } = await start(url);
  await client.submit('chat-batch', [question(2_000, ''), ...questions(1_999)]);

  expect(present(await untilEnded(muster!, 2_000))).toEqual({ succeeded: 1_999, failed: 1 });
  expect((await batchesOf(url)).map((batch) => [batch.status, batch.request_counts.total])).toEqual([
    ['completed', 2_000],
  ]);
  expect((await taskEnds(muster!)).get('question-2000')).toMatchObject({
    state: 'failed',
    attempts: 1,
    error: expect.stringContaining('400'),
  });
  const answer = await client.getTask('question-1234');
  expect(JSON.stringify(answer)).toContain('1234 + 1234');
});

test('expiry with partial results: what was done counts, the rest lands in later batches, no answer is paid for twice [H7]', async () => {
  const { url } = await startDownstream('--expire-after', '800');
  const { client } = await start(url);
  await client.submit('chat-batch', questions(2_000));

  expect(present(await untilEnded(muster!, 2_000))).toEqual({ succeeded: 2_000 });
  const batches = await batchesOf(url);
  expect(batches.filter((batch) => batch.status === 'expired').length).toBeGreaterThanOrEqual(1);
  expect(batches.reduce((sum, batch) => sum + batch.request_counts.completed, 0)).toBe(2_000);
  const attempts = [...(await taskEnds(muster!)).values()].map((end) => end.attempts);
  expect(attempts.filter((count) => count === 1)).toHaveLength(800);
});

test('the answer of every create is lost: the batch is found by its key and nothing is created twice [H3]', async () => {
  const { url } = await startDownstream();
  const proxy = await examples.lossyProxy(url, 1, 'POST /v1/batches');
  const { client } = await start(proxy.url);
  await client.submit('chat-batch', questions(100));

  expect(present(await untilEnded(muster!, 100))).toEqual({ succeeded: 100 });
  expect(await getJson(`${url}/v1/stats`)).toMatchObject({ creates: 1 });
  expect(await getJson(`${proxy.url}/_proxy/stats`)).toEqual({ calls: 1, lost: 1 });
});
