import pino from 'pino';
import { defineHandler, HaltError } from '../../handlers';
import type { Handler, HandlerOptions } from '../../handlers';
import { noteFault } from '../../postgres/calls/fault';
import { eventually } from '../helpers/eventually';
import type { TestMuster } from '../helpers/muster';
import { startMuster } from '../helpers/muster';

/**
 * Handlers that throw: where they did is in the log once, and in `explain` and `batch` for as long
 * as it is why a batch waits.
 */

interface Thrown {
  msg: string;
  handler: string;
  call: string;
  error: string;
  at: string;
}
const lines: Thrown[] = [];
/** Not the lines that say what became of the batches. */
const thrown = (handler: string): Thrown[] => lines.filter((line) => line.handler === handler && !('ends' in line));
let broken = true;
let locked = true;
const calls: string[] = [];
const lockedOut: HandlerOptions<{ to: string }>['submit'] = async ({ target, tasks }) => {
  calls.push(target);
  if (target.startsWith('locked') && locked) throw new HaltError('no key for this one', { scope: 'target' });
  return { results: tasks.map(({ id }) => ({ id, status: 'ok' as const })) };
};

const define = (name: string, more: Partial<HandlerOptions<{ to: string }>>): Handler =>
  defineHandler<{ to: string }>({
    name,
    target: ({ to }) => to,
    limits: { maxItems: 1 },
    linger: { lingerMs: 10 },
    retry: { inPlace: { times: 0 }, delayed: { baseMs: 600_000, maxMs: 600_000 } },
    submit: async ({ tasks }) => {
      if (broken) throw new TypeError(`no such order: ${tasks[0]!.id}`); // the line that is expected
      return { results: tasks.map(({ id }) => ({ id, status: 'ok' as const })) };
    },
    ...more,
  });

let muster: TestMuster;
beforeAll(async () => {
  const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(JSON.parse(line) as Thrown) });
  muster = await startMuster(
    [
      define('parked', {}),
      define('again', { onUnknown: 'resend' }),
      define('lane', { service: (target) => target, reconcile: async () => ({ status: 'unsure' }) }),
      define('halts', { submit: lockedOut }),
      define('halts-lane', { submit: lockedOut, service: (target) => target }),
      define('streams', {
        submit: async () => ({
          results: (async function* () {
            yield { index: 0, status: 'ok' as const };
            await Promise.resolve();
            throw new RangeError('the stream broke'); // the line in the stream
          })(),
        }),
      }),
    ],
    { log },
  );
});
afterAll(() => muster.stop());

const submit = (handler: string, ...ids: string[]): Promise<unknown> =>
  muster.client.submit(
    handler,
    ids.map((id) => ({ id, payload: { to: id } })),
  );
const HERE = /thrown\.test\.ts:\d+:\d+/;

test('parked: its stack with the batch and in explain, and in the log once for many batches', async () => {
  const ids = Array.from({ length: 6 }, (_, i) => `parked-${i}`);
  await submit('parked', ...ids);
  await eventually(async () => (await muster.client.getTasks(ids)).every((task) => task?.state === 'unknown'));
  const task = await muster.client.getTask('parked-3');
  const batch = (await muster.client.batch(task!.batch!))!;
  expect(batch).toMatchObject({ error: 'TypeError: no such order: parked-3' });
  expect(batch.stack).toMatch(new RegExp(`^at (Object\\.)?submit \\(.*${HERE.source}\\)`));
  expect(batch.stack).not.toMatch(/activities|no such order/);
  const { text, facts } = await muster.client.explain('parked-3');
  expect(text).toMatch(new RegExp(`\\nThe handler threw:\\n {2}at .*${HERE.source}`));
  expect(facts.batch!.stack).toBe(batch.stack);
  expect(thrown('parked')).toEqual([
    expect.objectContaining({
      msg: 'a handler threw',
      call: 'submit',
      error: expect.stringContaining('no such order'),
      at: expect.stringMatching(HERE) as string,
    }),
  ]);
  const { rows } = await muster.database.pool.query('select count(*)::int as stacks from fault');
  expect(rows).toEqual([{ stacks: 1 }]);
});

test('the stack of a batch is kept at any number of attempts: each reading of an accepted one takes one', async () => {
  const { pool } = muster.database;
  const batch = (await muster.client.getTask('parked-3'))!.batch!;
  await pool.query('update batch set attempt = 32768 where id = $1', [batch]);
  await noteFault(pool, batch, 32_768, 'at poll (handler.ts:1:1)');
  expect(await muster.client.batch(batch)).toMatchObject({ stack: 'at poll (handler.ts:1:1)' });
});

test('sent again later: shown meanwhile, gone once it has succeeded', async () => {
  await submit('again', 'again-1');
  const waiting = await eventually(async () => {
    const task = await muster.client.getTask('again-1');
    const batch = task?.batch == null ? null : await muster.client.batch(task.batch);
    return batch?.retryAt == null ? null : batch;
  });
  expect(waiting.stack).toMatch(HERE);
  broken = false;
  await muster.database.pool.query('update batch set retry_at = clock() where id = $1', [waiting.id]);
  await muster.client.resume('again');
  await muster.client.flush('again');
  await eventually(async () => (await muster.client.getTask('again-1'))?.state === 'succeeded', { timeoutMs: 90_000 });
  expect(await muster.client.batch(waiting.id)).toMatchObject({ error: null, stack: null });
  broken = true;
});

test('in a lane, while it is looked up; and in results that break off', async () => {
  await submit('lane', 'lane-1');
  const { text } = await eventually(async () => {
    const explained = await muster.client.explain('lane-1');
    return explained.text.includes('The handler threw') && explained;
  });
  expect(text).toMatch(new RegExp(`in lane lane-1, [^]*The handler threw:\\n {2}at .*${HERE.source}`));
  await submit('streams', 'streams-1');
  await eventually(() => thrown('streams').length > 0);
  await eventually(async () => (await muster.client.getTask('streams-1'))?.state === 'unknown');
  expect(thrown('streams')).toEqual([
    expect.objectContaining({ call: 'submit', error: 'RangeError: the stream broke' }),
  ]);
  expect((await muster.client.explain('streams-1')).text).toMatch(/The handler threw:/);
});

test.each(['halts', 'halts-lane'])(
  '%s: a HaltError with scope target pauses that target alone, and a resume lets it go on',
  async (handler) => {
    locked = true;
    const [bad, good] = [`locked-${handler}`, `open-${handler}`];
    await submit(handler, bad);
    await eventually(async () => (await muster.client.explain(bad)).text.includes('is paused: no key for this one'), {
      what: async () => (await muster.client.explain(bad)).text,
    });
    await submit(handler, good);
    await eventually(async () => (await muster.client.getTask(good))?.state === 'succeeded');
    expect(calls.filter((target) => target === bad)).toHaveLength(1);
    expect(await muster.client.getTask(bad)).toMatchObject({ attempts: 0 });
    expect(thrown(handler)).toEqual([]);
    locked = false;
    await muster.client.resume(handler, { target: bad });
    await eventually(async () => (await muster.client.getTask(bad))?.state === 'succeeded');
    expect(calls.filter((target) => target === bad)).toHaveLength(2);
  },
);
