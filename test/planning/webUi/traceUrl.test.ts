import { isTraceUrl, traceIdIn, traceUrlOf } from '../../../workflows/planning/traceUrl';

const ID = '4bf92f3577b34da6a3ce929d0e0e4736';
const traceparent = `00-${ID}-00f067aa0ba902b7-01`;

test.each([
  ['https://jaeger.example.com/trace/{traceId}', true],
  ['http://127.0.0.1:16686/trace/{traceId}?uiFind=muster', true],
  ['https://grafana.example.com/explore?left={"query":"{traceId}"}', true],
  ['https://traces.example.com/#/{traceId}', true],
  ['https://jaeger.example.com/trace/', false],
  ['https://jaeger.example.com/trace/{traceid}', false],
  ['https://{traceId}.example.com/', false],
  ['https://{traceId}@jaeger.example.com/', false],
  ['https://user:{traceId}@jaeger.example.com/', false],
  ['https://user:pw@jaeger.example.com/{traceId}', false],
  ['https://jaeger.example.com:{traceId}/', false],
  ['{traceId}', false],
  ['/trace/{traceId}', false],
  ['javascript:alert("{traceId}")', false],
  ['data:text/html,{traceId}', false],
  ['', false],
])('%s: %s', (template, isOne) => {
  expect(isTraceUrl(template)).toBe(isOne);
});

test('the id of a trace stands in each of its places; without a template or an id there is no address', () => {
  expect(traceUrlOf('https://t.example.com/{traceId}?id={traceId}', traceparent)).toBe(
    `https://t.example.com/${ID}?id=${ID}`,
  );
  expect(traceUrlOf(null, traceparent)).toBeNull();
  expect(traceUrlOf('https://t.example.com/{traceId}', 'none')).toBeNull();
  expect([traceIdIn(traceparent), traceIdIn('00-xyz-1-01')]).toEqual([ID, null]);
});
