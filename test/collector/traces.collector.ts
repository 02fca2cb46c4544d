import { context, trace } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node';
import { httpHandler } from '../../handlers';
import type { Downstream } from '../handlers/downstream';
import { startDownstream } from '../handlers/downstream';
import { httpConfig } from '../handlers/http/httpConfig';
import { eventually } from '../helpers/eventually';
import type { TestMuster } from '../helpers/muster';
import { startMuster } from '../helpers/muster';
import type { Jaeger, StoredSpan } from './jaeger';
import { startJaeger } from './jaeger';
import { outlineOf } from './outline';

/** What Jaeger has stored of traces that went through an exporter, OTLP and its collector. */

let jaeger: Jaeger;
let downstream: Downstream;
let provider: NodeTracerProvider;
let muster: TestMuster;
beforeAll(async () => {
  jaeger = await startJaeger();
  const exporter = new OTLPTraceExporter({ url: jaeger.otlpUrl });
  provider = new NodeTracerProvider({ spanProcessors: [new BatchSpanProcessor(exporter)] });
  provider.register();
  downstream = await startDownstream();
  downstream.answer = (response, { body }) => {
    const items = JSON.parse(body) as { id: string }[];
    const results = items.map(({ id }) => (id === 'bad' ? { id, status: 422, error: 'not so' } : { id, status: 200 }));
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ results }));
  };
  const handlers = ['single', 'mixed'].map((name) =>
    httpHandler(httpConfig(downstream.url, { name, linger: { lingerMs: 60_000 } })),
  );
  muster = await startMuster(handlers);
});
afterAll(async () => {
  await muster.stop();
  trace.disable();
  context.disable();
  await provider.shutdown();
  await downstream.close();
  await jaeger.stop();
});

/** Submits within a span of the application; returns the trace's id. */
const submitIn = (handler: string, ...ids: string[]): Promise<string> =>
  trace.getTracer('application').startActiveSpan('checkout', async (span) => {
    await muster.client.submit(
      handler,
      ids.map((id) => ({ id, payload: { to: 'lund', n: 1 } })),
    );
    span.end();
    return span.spanContext().traceId;
  });
const stored = async (traceId: string, spans: number): Promise<StoredSpan[]> => {
  await provider.forceFlush();
  return eventually(async () => {
    const found = await jaeger.spansOf(traceId);
    return found.length >= spans && found;
  });
};
const sent = (handler: string): string[] =>
  downstream.seen.flatMap(({ headers, body }) =>
    body.includes(`"${handler}`) ? [String(headers['traceparent'])] : [],
  );

test('one trace: submit, wait and call below the application, and the call goes on into the downstream', async () => {
  const traceId = await submitIn('single', 'single-1', 'single-2');
  await muster.client.flush('single');
  await muster.client.waitFor(['single-1', 'single-2']);
  const spans = await stored(traceId, 4);
  const outline = outlineOf(spans);
  process.stdout.write(`\n${outline}\n`);
  expect(outline.replace(/ \d+ ms/g, '')).toBe(
    ['checkout', '  muster submit single', '    muster queued single', '    muster call single'].join('\n'),
  );
  const call = spans.find(({ operationName }) => operationName === 'muster call single')!;
  expect(sent('single')).toEqual([`00-${traceId}-${call.spanID}-01`]);
  expect(call.tags).toContainEqual(expect.objectContaining({ key: 'muster.tasks.ok', value: 2 }));
});

test('a batch of two traces: its call links to both submits, and each trace to the call', async () => {
  const traceIds = [await submitIn('mixed', 'mixed-1'), await submitIn('mixed', 'bad')];
  await muster.client.flush('mixed');
  await muster.client.waitFor(['mixed-1', 'bad']);
  const [header] = sent('mixed');
  const [, callTrace, callSpan] = header!.split('-');
  const theirs = await Promise.all(traceIds.map((traceId) => stored(traceId, 4)));
  const [call] = await stored(callTrace!, 1);
  for (const spans of [...theirs, [call!]]) process.stdout.write(`\n${outlineOf(spans)}\n`);
  expect([call!.spanID, traceIds.includes(callTrace!)]).toEqual([callSpan, false]);
  const submits = theirs.map((spans) => spans.find(({ operationName }) => operationName === 'muster submit mixed')!);
  const links = ({ references }: StoredSpan): string[] =>
    references.flatMap(({ refType, traceID, spanID }) => (refType === 'FOLLOWS_FROM' ? [`${traceID}-${spanID}`] : []));
  expect(links(call!).toSorted()).toEqual(submits.map(({ traceID, spanID }) => `${traceID}-${spanID}`).toSorted());
  for (const spans of theirs) {
    expect(outlineOf(spans).replace(/ \d+ ms/g, '')).toBe(
      ['checkout', '  muster submit mixed', '    muster queued mixed', '    muster handle mixed'].join('\n'),
    );
    const handle = spans.find(({ operationName }) => operationName === 'muster handle mixed')!;
    expect(links(handle)).toEqual([`${callTrace}-${callSpan}`]);
    const hasFailed = handle.tags.some(({ key, value }) => key === 'error' && value === true);
    expect(hasFailed).toBe(spans === theirs[1]);
  }
});
