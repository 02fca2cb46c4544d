import { setTimeout as sleep } from 'node:timers/promises';
import pino from 'pino';
import type { HandlerOptions, ItemResult } from '../../handlers';
import { defineHandler, readReference } from '../../handlers';
import type { ResultSink } from '../../handlers/results';

/** Reads of results that hang, at a downstream that answers no more. */

const ok = (id: string): ItemResult => ({ id, status: 'ok' });
type Read = NonNullable<HandlerOptions<unknown>['results']>;

const read = (
  results: Read,
  idleMs: number,
  signal = new AbortController().signal,
  add: ResultSink['add'] = () => undefined,
) => {
  const handler = defineHandler({
    name: 'jobs',
    target: () => 'x',
    limits: { maxItems: 10 },
    submit: () => Promise.resolve({ results: [] }),
    status: () => Promise.resolve([]),
    results,
    poll: { idleMs },
  });
  const tasks = [{ id: 'a' }, { id: 'b' }, { id: 'c' }];
  return readReference(handler, 'r', tasks, { signal, log: pino({ enabled: false }) }, { add });
};
const until = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) =>
    signal.addEventListener('abort', () => reject(signal.reason instanceof Error ? signal.reason : new Error('?'))),
  );

test('a read without any result is given up, and its signal says why', async () => {
  const found = await read((_, { signal }) => until(signal), 50);
  expect(found).toEqual({ kind: 'unread', error: expect.stringContaining('no result (poll.idleMs) within 50 ms') });
});

test('a stream that stops is given up as many ms after its last result', async () => {
  const found = await read(
    async function* (_, { signal }) {
      yield ok('a');
      yield await until(signal);
    } as Read,
    50,
  );
  expect(found).toEqual({
    kind: 'unread',
    error: expect.stringMatching(/broke off after 1 were read: .*no result \(poll.idleMs\) within 50 ms/),
  });
});

test('a read that ignores its signal is abandoned', async () => {
  const found = await read(() => new Promise<never>(() => undefined), 50);
  expect(found).toEqual({ kind: 'unread', error: expect.stringContaining('after 50 ms without a result') });
});

test('a stream may take far longer than that, as long as results come', async () => {
  const found = await read(async function* () {
    for (const id of ['a', 'b', 'c']) {
      await sleep(200);
      yield ok(id);
    }
  }, 400);
  expect(found).toEqual({ kind: 'results', deviants: [] });
});

test('a worker that stops ends a read as before', async () => {
  const worker = new AbortController();
  const reading = read((_, { signal }) => until(signal), 60_000, worker.signal);
  worker.abort(new Error('the worker stops'));
  expect(await reading).toEqual({ kind: 'unread', error: expect.stringContaining('the worker stops') });
});

test('the time that it takes to store what was read is not the time of its source', async () => {
  const results = ['a', 'b', 'c'].map((id) => ({ ...ok(id), result: id }));
  const found = await read(
    () => results,
    400,
    undefined,
    () => sleep(200),
  );
  expect(found).toEqual({ kind: 'results', deviants: [] });
});
