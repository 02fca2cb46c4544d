import { SpanStatusCode, trace } from '@opentelemetry/api';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-node';
import { CompletionTooEarlyError } from '../../client';
import { defineHandler } from '../../handlers';
import type { CallContext, ItemResult } from '../../handlers';
import { eventually } from '../helpers/eventually';
import type { TestMuster } from '../helpers/muster';
import { startMuster } from '../helpers/muster';
import { expectWhole } from '../helpers/whole';
import type { Recorder } from './recordSpans';
import { msOf, recordSpans } from './recordSpans';

/** What a trace shows of a task, from its submit to the end of its call. */

interface Job {
  to: string;
  as: 'ok' | 'failed' | 'retry';
}
const calls: { handler: string; active: string | undefined; context: CallContext }[] = [];
const jobs = (name: string, more: object = {}) =>
  defineHandler<Job>({
    name,
    target: ({ to }) => to,
    limits: { maxItems: 500 },
    linger: { lingerMs: 60_000 },
    retry: { maxAttempts: 2, delayed: { baseMs: 10, maxMs: 10 } },
    submit: ({ tasks }, callContext) => {
      calls.push({ handler: name, active: trace.getActiveSpan()?.spanContext().spanId, context: callContext });
      return Promise.resolve({
        results: tasks.map(({ id, payload: { as } }) => ({ id, status: as, ...(as === 'ok' ? {} : { error: 'no' }) })),
      });
    },
    ...more,
  });

/** Completes the batch, as soon as its acceptance is written. */
const tell = (): Promise<boolean> =>
  eventually(() =>
    muster.client.complete('told', { reference: 'told', results: reportOf('told') }).then(
      () => true,
      (error: unknown) => {
        if (!(error instanceof CompletionTooEarlyError)) throw error;
        return false;
      },
    ),
  );
const reportOf = (handler: string): ItemResult[] => [
  { id: `${handler}-good`, status: 'ok' },
  { id: `${handler}-bad`, status: 'failed', error: 'not so' },
  { id: `${handler}-none`, status: 'ok' },
];

let recorder: Recorder;
let muster: TestMuster;
beforeAll(async () => {
  recorder = recordSpans();
  muster = await startMuster([
    ...['one', 'many', 'again'].map((name) => jobs(name)),
    ...['given', 'copied', 'needs'].map((name) => jobs(name, { linger: { lingerMs: 10 } })),
    ...['polled', 'told'].map((name) =>
      jobs(name, {
        submit: () => Promise.resolve({ status: 'accepted', reference: name }),
        status: () => Promise.resolve([{ reference: name, status: 'done' }]),
        results: () => reportOf(name),
        poll: { everyMs: name === 'polled' ? 100 : 3_600_000 },
      }),
    ),
    jobs('ordered', { service: (to: string) => to, linger: { lingerMs: 10 } }),
  ]);
});
afterAll(async () => {
  await muster.stop();
  await recorder.stop();
});

const task = (id: string, as: Job['as'] = 'ok', to = 'a') => ({ id, payload: { to, as } });
const ended = async (handler: string, ids: readonly string[]): Promise<void> => {
  await muster.client.flush(handler);
  await muster.client.waitFor(ids);
};
const named = (handler: string, kind: string): ReadableSpan[] =>
  recorder.spans(handler).filter(({ name }) => name === `muster ${kind} ${handler}`);
const parentOf = (span: ReadableSpan | undefined): string | undefined => span?.parentSpanContext?.spanId;
const idOf = (span: ReadableSpan | undefined): string | undefined => span?.spanContext().spanId;

test('tasks of one trace have their submit, their wait and their call in it', async () => {
  const application = await recorder.within('application', async (span) => {
    await muster.client.submit('one', [task('one-1'), task('one-2')]);
    return span.spanContext();
  });
  await ended('one', ['one-1', 'one-2']);
  const [[submit], [queued], [call]] = [named('one', 'submit'), named('one', 'queued'), named('one', 'call')];
  expect([parentOf(submit), parentOf(queued), parentOf(call)]).toEqual([
    application.spanId,
    idOf(submit),
    idOf(submit),
  ]);
  for (const span of [submit, queued, call]) expect(span!.spanContext().traceId).toBe(application.traceId);
  expect(msOf(queued!.startTime)).toBeGreaterThanOrEqual(msOf(submit!.startTime) - 50);
  expect(msOf(queued!.endTime)).toBe(msOf(call!.startTime));
  expect(call!.attributes).toMatchObject({
    'messaging.destination.name': 'one',
    'messaging.batch.message_count': 2,
    'muster.target': 'a',
    'muster.attempt': 1,
    'muster.outcome': 'results',
    'muster.tasks.ok': 2,
  });
  const [seen] = calls.filter(({ handler }) => handler === 'one');
  expect(seen!.active).toBe(idOf(call));
  expect(seen!.context.traceparent).toBe(`00-${application.traceId}-${idOf(call)}-01`);
  expect((await muster.client.getTask('one-1'))!.traceparent).toBe(`00-${application.traceId}-${idOf(submit)}-01`);
});

test('a call for tasks of several traces is linked with each of them', async () => {
  const submitIn = (id: string, as: Job['as']) =>
    recorder.within(id, async (span) => {
      await muster.client.submit('many', task(id, as));
      return span.spanContext().traceId;
    });
  const good = await submitIn('many-good', 'ok');
  const bad = await submitIn('many-bad', 'failed');
  await muster.client.submit('many', task('many-none'));
  await ended('many', ['many-good', 'many-bad', 'many-none']);
  const [call] = named('many', 'call');
  expect(call!.parentSpanContext).toBeUndefined();
  const submits = named('many', 'submit');
  expect(new Set(call!.links.map((link) => link.context.spanId))).toEqual(new Set(submits.map(idOf)));
  expect(call!.status).toEqual({ code: SpanStatusCode.ERROR, message: 'no' });
  expect(call!.attributes).toMatchObject({ 'muster.tasks.ok': 2, 'muster.tasks.failed': 1 });
  const of = (traceId: string, kind: string) =>
    named('many', kind).filter((span) => span.spanContext().traceId === traceId);
  for (const traceId of [good, bad]) {
    const [[submit], [queued], [handled]] = [of(traceId, 'submit'), of(traceId, 'queued'), of(traceId, 'handle')];
    expect([parentOf(queued), parentOf(handled)]).toEqual([idOf(submit), idOf(submit)]);
    expect(handled!.links.map((link) => link.context.spanId)).toEqual([idOf(call)]);
  }
  expect(of(good, 'handle')[0]!.status.code).toBe(SpanStatusCode.UNSET);
  expect(of(bad, 'handle')[0]!.status).toEqual({ code: SpanStatusCode.ERROR, message: 'no' });
});

test('a trace context that is given is used where no span is active, if it is recorded', async () => {
  const trace1 = '4bf92f3577b34da6a3ce929d0e0e4736';
  const submit = (id: string, traceparent: string) => muster.client.submit('given', task(id), { traceparent });
  await submit('given-1', `00-${trace1}-00f067aa0ba902b7-01`);
  await submit('given-2', 'nonsense');
  await submit('given-3', `00-${trace1}-00f067aa0ba902b7-00`);
  const [first, second, third] = named('given', 'submit');
  expect(first!.spanContext().traceId).toBe(trace1);
  expect(parentOf(first)).toBe('00f067aa0ba902b7');
  expect([second, third].map((span) => span!.parentSpanContext)).toEqual([undefined, undefined]);
});

test.each([
  [
    'many tasks',
    'copied',
    () =>
      muster.client.submit(
        'copied',
        Array.from({ length: 60 }, (_, i) => task(`copied-${i}`)),
      ),
  ],
  [
    'tasks with dependencies',
    'needs',
    async () => {
      await muster.client.submit('needs', task('needs-1'));
      await muster.client.submit('needs', { ...task('needs-2'), dependsOn: ['needs-1'] });
    },
  ],
  ['single tasks of a lane', 'ordered', () => muster.client.submit('ordered', task('ordered-1'))],
  ['a batch of a lane', 'ordered', () => muster.client.submitBatch('ordered', 'b', [task('ordered-2', 'ok', 'b')])],
])('%s are stored with their trace', async (_, handler, submit) => {
  const before = named(handler, 'submit').length;
  await submit();
  const stored = async (): Promise<unknown[]> => {
    const { rows } = await muster.database.pool.query<{ trace: string | null }>(
      `select distinct k.trace from task k join target t on t.id = k.target_id join handler h on h.id = t.handler_id
      where h.name = $1`,
      [handler],
    );
    return rows.map((row) => row.trace);
  };
  const own = named(handler, 'submit')
    .slice(before)
    .map((span) => `00-${span.spanContext().traceId}-${idOf(span)}-01`);
  expect(await stored()).toEqual(expect.arrayContaining(own));
  expect(own.length).toBeGreaterThan(0);
});

test('before a second call a task is queued since the first', async () => {
  await muster.client.submit('again', task('again-1', 'retry'));
  await muster.client.flush('again');
  await eventually(() => named('again', 'call').length > 0);
  await ended('again', ['again-1']);
  const [first, second] = named('again', 'call');
  const queued = named('again', 'queued');
  expect(queued).toHaveLength(2);
  expect(msOf(queued[1]!.endTime)).toBe(msOf(second!.startTime));
  expect(msOf(queued[1]!.startTime)).toBeGreaterThanOrEqual(msOf(first!.startTime) - 50);
  expect(msOf(queued[1]!.startTime)).toBeLessThanOrEqual(msOf(second!.startTime));
});

test.each([
  ['polls find', 'polled', () => Promise.resolve(true)],
  ['a completion says', 'told', tell],
])('an accepted batch has a span in each trace, from its call to what %s', async (_, handler, report) => {
  const submitIn = (id: string) =>
    recorder.within(id, async (span) => {
      await muster.client.submit(handler, task(id));
      return span.spanContext().traceId;
    });
  const traces = [await submitIn(`${handler}-good`), await submitIn(`${handler}-bad`)];
  await muster.client.submit(handler, task(`${handler}-none`));
  await muster.client.flush(handler);
  await eventually(async () => (await muster.client.getTask(`${handler}-good`))!.state === 'in-progress');
  await report();
  await muster.client.waitFor([`${handler}-good`, `${handler}-bad`, `${handler}-none`]);
  await eventually(() => named(handler, 'accepted').length === 3);
  const [call] = named(handler, 'call');
  const submits = named(handler, 'submit');
  const spans = traces.map((id) => named(handler, 'accepted').find((span) => span.spanContext().traceId === id));
  for (const [i, span] of spans.entries()) {
    expect(parentOf(span)).toBe(idOf(submits[i]));
    expect(Math.abs(msOf(span!.startTime) - msOf(call!.startTime))).toBeLessThan(1_000);
    expect(msOf(span!.endTime)).toBeGreaterThanOrEqual(msOf(call!.endTime));
    expect(span!.attributes).toMatchObject({ 'muster.outcome': 'results', 'messaging.batch.message_count': 1 });
  }
  expect(spans.map((span) => span!.status)).toEqual([
    { code: SpanStatusCode.UNSET },
    { code: SpanStatusCode.ERROR, message: 'not so' },
  ]);
});

test('a submit that fails is an error of its span', async () => {
  await muster.client.waitFor(['given-1', 'given-2', 'copied-59', 'needs-2', 'ordered-1', 'ordered-2']);
  await muster.client.submit('one', task('one-1', 'failed')).catch(() => undefined);
  expect(named('ordered', 'call').length).toBeGreaterThan(0);
  const last = named('one', 'submit').at(-1);
  expect(last!.status.code).toBe(SpanStatusCode.ERROR);
  await expectWhole(muster.client);
});
