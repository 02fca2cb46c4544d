import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Handler } from '../../handlers';
import { type ChatPayload, chatBatchHandler } from '../../examples/openai-batch/handler';
import { OpenaiClient } from '../../examples/openai-batch/openaiClient';
import type { ExampleProcess } from '../../examples/support/child';
import { rounds } from '../helpers/long';
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
} from './helpers';

/** @full */

interface Stats {
  uploads: number;
  uploadedBytes: number;
  creates: number;
  downloadedBytes: number;
  maxResidentBytes: number;
}

const examples = new Examples();
afterAll(() => examples.stopAll());

const startDownstream = (...args: string[]) => examples.start('openai-batch/downstream', ['--delay-ms', '50', ...args]);
const handlerFor = ({ url }: { url: string }) => chatBatchHandler({ url, apiKey: 'test' });
const { signal } = new AbortController();

const questions = (count: number, padding = 0): ChatPayload[] =>
  Array.from({ length: count }, (_, index) => ({
    model: 'small-model',
    messages: [{ role: 'user', content: `question ${index} `.padEnd(padding, '.') }],
  }));

/** Polls as Muster's monitor does, until the batch is no longer pending. */
async function statusOf(handler: Handler<ChatPayload>, reference: string, withinMs?: number) {
  const ask = async () => (await handler.status?.([reference], { signal, log: console }))?.[0];
  return until(ask, (answer) => answer !== undefined && answer.status !== 'pending', withinMs);
}

function resultsFor(handler: Handler<ChatPayload>, reference: string) {
  if (handler.results === undefined) {
    throw new Error('handler: expected results');
  }
  return collect(handler.results(reference, { signal, log: console }));
}

describe('chat-batch', () => {
  it('accepted, pending, done; the results are matched by id, a refused request fails alone [H7]', async () => {
    const handler = handlerFor(await startDownstream('--delay-ms', '300'));
    const payloads = [...questions(9), { model: 'small-model', messages: [{ role: 'user', content: '' }] }];
    const answer = await handler.submit(buildBatch(handler, payloads), buildContext());
    const reference = referenceOf(answer);

    expect(await handler.status?.([reference], { signal, log: console })).toEqual([{ reference, status: 'pending' }]);
    expect(await statusOf(handler, reference)).toEqual({ reference, status: 'done' });
    const results = await resultsFor(handler, reference);

    expect(countByStatus(results)).toEqual({ ok: 9, failed: 1 });
    expect(results.find((result) => result.id === 'task-9')).toMatchObject({
      status: 'failed',
      error: expect.stringMatching(/^400: /),
    });
    // The file has another order than the batch.
    expect(results.map((result) => result.id).slice(0, 9)).not.toEqual(
      payloads.map((_, index) => `task-${index}`).slice(0, 9),
    );
    expect(results.find((result) => result.id === 'task-4')).toMatchObject({
      result: { choices: [{ message: { content: 'You said: question 4 ' } }] },
    });
  });

  it('a batch that expires keeps what is done and gives the rest back for another batch [H7]', async () => {
    const handler = handlerFor(await startDownstream('--expire-after', '4'));
    const reference = referenceOf(await handler.submit(buildBatch(handler, questions(10)), buildContext()));

    expect(await statusOf(handler, reference)).toMatchObject({ status: 'expired' });
    const results = await resultsFor(handler, reference);

    expect(countByStatus(results)).toEqual({ ok: 4, retry: 6 });
    expect(results.filter((result) => result.status === 'retry').map((result) => result.error)).toEqual(
      Array.from({ length: 6 }, () => expect.stringMatching(/^batch_expired: /)),
    );
    expect(new Set(results.map((result) => result.id)).size).toBe(10);
  });

  it('a request that the model could not answer for now is a retry, and another batch answers it [H1]', async () => {
    const handler = handlerFor(await startDownstream('--error-rate', '0.5'));
    let rest = questions(40).map((payload, index) => ({ id: `task-${index}`, payload }));
    const counts: number[] = [];
    for (let round = 0; round < 20 && rest.length > 0; round += 1) {
      const ids = rest.map((task) => task.id);
      const batch = buildBatch(
        handler,
        rest.map((task) => task.payload),
        (index) => ids[index] ?? '',
      );
      const reference = referenceOf(await handler.submit(batch, buildContext()));
      await statusOf(handler, reference);
      const results = await resultsFor(handler, reference);
      const again = new Set(results.filter((result) => result.status === 'retry').map((result) => result.id));
      counts.push(results.filter((result) => result.status === 'ok').length);
      rest = rest.filter((task) => again.has(task.id));
    }
    expect(counts.length).toBeGreaterThan(1);
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(40);
  });

  it('a create whose answer was lost is found by its key; a key that never came is absent [H3]', async () => {
    const downstream = await startDownstream();
    const proxy = await examples.lossyProxy(downstream.url, 1, 'POST /v1/batches');
    const [lossy, handler] = [handlerFor(proxy), handlerFor(downstream)];
    const batch = buildBatch(handler, questions(3));
    const context = buildContext('the-key');

    expect((await outcomeOf(lossy, batch, context)).kind).toBe('unknown');
    const found = await lossy.reconcile?.(batch, context);
    const other = await lossy.reconcile?.(batch, buildContext('another-key'));

    expect(other).toEqual({ status: 'absent' });
    const reference = referenceOf(found as { status: string });
    expect(await statusOf(handler, reference)).toMatchObject({ status: 'done' });
    expect(countByStatus(await resultsFor(handler, reference))).toEqual({ ok: 3 });
    expect(await getJson<Stats>(`${downstream.url}/v1/stats`)).toMatchObject({ uploads: 1, creates: 1 });
  });

  it('looks through all pages of the list [H3]', async () => {
    const downstream = await startDownstream();
    const handler = handlerFor(downstream);
    const client = new OpenaiClient({ url: downstream.url, apiKey: 'test' });
    const first = referenceOf(await handler.submit(buildBatch(handler, questions(1)), buildContext('oldest')));
    const file = await client.uploadFile(['{"custom_id":"a","method":"POST","url":"/v1/x","body":{}}\n'], signal);
    for (let n = 0; n < 205; n += 1) {
      await client.createBatch({ input_file_id: file, endpoint: '/v1/x', completion_window: '24h' }, signal);
    }
    expect(await handler.reconcile?.(buildBatch(handler, questions(1)), buildContext('oldest'))).toEqual({
      status: 'accepted',
      reference: first,
    });
  });

  it('an upload whose answer was lost is had again: a file by itself runs nothing [H5]', async () => {
    const downstream = await startDownstream();
    const handler = handlerFor(await examples.lossyProxy(downstream.url, 1, 'POST /v1/files'));
    expect(await outcomeOf(handler, buildBatch(handler, questions(3)))).toMatchObject({
      kind: 'later',
      error: expect.stringMatching(/^upload: /),
    });
    expect(await getJson<Stats>(`${downstream.url}/v1/stats`)).toMatchObject({ uploads: 1, creates: 0 });
  });

  it('a file that the API does not accept is failed with its lines; a batch it does not know is lost [H7]', async () => {
    const handler = handlerFor(await startDownstream());
    const twice = buildBatch(handler, questions(3), () => 'same-id');
    const reference = referenceOf(await handler.submit(twice, buildContext()));

    await statusOf(handler, reference);
    expect(await handler.status?.(['batch_0', reference], { signal, log: console })).toEqual([
      { reference: 'batch_0', status: 'lost', error: 'the API knows no such batch' },
      {
        reference,
        status: 'failed',
        error:
          'duplicate_custom_id (line 2): custom_id: "same-id" came before; duplicate_custom_id (line 3): custom_id: "same-id" came before',
      },
    ]);
  });

  it('a cancelled batch gives back what it did not come to [H7]', async () => {
    const handler = handlerFor(await startDownstream('--delay-ms', '60000'));
    const reference = referenceOf(await handler.submit(buildBatch(handler, questions(5)), buildContext()));
    await handler.cancel?.(reference, { signal, log: console });
    expect(await statusOf(handler, reference)).toMatchObject({ status: 'expired', error: 'cancelled' });
    expect(countByStatus(await resultsFor(handler, reference))).toEqual({ retry: 5 });
  });

  it('goes on with its batches after a SIGKILL', async () => {
    const dir = mkdtempSync(join(tmpdir(), `openai-batch-test-${randomBytes(4).toString('hex')}-`));
    try {
      const before = await startDownstream('--data-dir', dir, '--delay-ms', '60000');
      const reference = referenceOf(
        await handlerFor(before).submit(buildBatch(handlerFor(before), questions(20)), buildContext()),
      );
      await before.kill();
      const handler = handlerFor(await startDownstream('--data-dir', dir));
      expect(await statusOf(handler, reference)).toEqual({ reference, status: 'done' });
      expect(countByStatus(await resultsFor(handler, reference))).toEqual({ ok: 20 });
    } finally {
      rmSync(dir, { recursive: true, force: true });
    }
  });
});

describe('50,000 members', () => {
  const MEMBERS = 50_000;
  /** Bytes of a member: of the short form's file, too, the heap below holds less than all. */
  const MEMBER_BYTES = rounds(1_300, 3_800);
  let downstream: ExampleProcess;
  let handler: Handler<ChatPayload>;
  let reference: string;
  let before: Stats;

  const upload = async (members: number, key: string): Promise<string> => {
    const uploaded = referenceOf(
      await handler.submit(buildBatch(handler, questions(members, MEMBER_BYTES)), buildContext(key, 180_000)),
    );
    expect(await statusOf(handler, uploaded, 180_000)).toMatchObject({ status: 'done' });
    return uploaded;
  };

  beforeAll(async () => {
    // A heap that could not hold the file.
    downstream = await examples.start('openai-batch/downstream', ['--delay-ms', '0'], {
      nodeArgs: ['--max-old-space-size=48'],
    });
    handler = handlerFor(downstream);
    // A quarter of it first: what a process needs beside its heap differs from machine to machine,
    // what it needs more for four times as much does not.
    await upload(MEMBERS / 4, 'quarter');
    before = await getJson<Stats>(`${downstream.url}/v1/stats`);
    reference = await upload(MEMBERS, 'large');
  });

  it('pass through a process whose memory does not grow with them [H8]', async () => {
    const stats = await getJson<Stats>(`${downstream.url}/v1/stats`);
    const uploaded = stats.uploadedBytes - before.uploadedBytes;
    expect(uploaded).toBeGreaterThan(MEMBERS * MEMBER_BYTES);
    expect(stats.maxResidentBytes - before.maxResidentBytes).toBeLessThan(uploaded / rounds(2, 4));
    expect(stats.maxResidentBytes).toBeLessThan(330_000_000);
  });

  it('come back one by one, each once [H8]', async () => {
    const seen = new Set<string>();
    for await (const result of (await handler.results?.(reference, { signal, log: console })) ?? []) {
      expect(result.status).toBe('ok');
      seen.add(result.id ?? '');
    }
    expect(seen.size).toBe(MEMBERS);
  });

  it('are read as they are asked for: whoever stops after ten has not fetched the file [H8]', async () => {
    const before = await getJson<Stats>(`${downstream.url}/v1/stats`);
    let count = 0;
    for await (const result of (await handler.results?.(reference, { signal, log: console })) ?? []) {
      count += result.status === 'ok' ? 1 : 0;
      if (count === 10) {
        break;
      }
    }
    const after = await getJson<Stats>(`${downstream.url}/v1/stats`);
    // The earlier test has read it whole.
    expect(before.downloadedBytes).toBeGreaterThan(15_000_000);
    expect(after.downloadedBytes - before.downloadedBytes).toBeLessThan(before.downloadedBytes / 2);
  });

  it('50,001 requests are failed, with the limit [H7]', async () => {
    const tooMany = buildBatch(handler, questions(MEMBERS + 1));
    const refused = referenceOf(await handler.submit(tooMany, buildContext('too-many')));
    expect(await statusOf(handler, refused)).toMatchObject({
      status: 'failed',
      error: 'too_many_requests (line 50001): expected at most 50000 requests',
    });
  });
});
