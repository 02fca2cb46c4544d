import { parseTraceparent, traceparentOf } from '../../../handlers/tracing/traceparent';

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
const spanId = '00f067aa0ba902b7';

test('a header is written and read back', () => {
  const text = traceparentOf({ traceId, spanId, traceFlags: 1 });
  expect(text).toBe(`00-${traceId}-${spanId}-01`);
  expect(parseTraceparent(text)).toEqual({ traceId, spanId, traceFlags: 1, isRemote: true });
});

test.each([
  ['is not recorded', `00-${traceId}-${spanId}-00`],
  ['has only other flags', `00-${traceId}-${spanId}-02`],
  ['is of another version', `01-${traceId}-${spanId}-01`],
  ['has no trace', `00-${'0'.repeat(32)}-${spanId}-01`],
  ['has no span', `00-${traceId}-${'0'.repeat(16)}-01`],
  ['has capitals', `00-${traceId.toUpperCase()}-${spanId}-01`],
  ['is longer', `00-${traceId}-${spanId}-01-more`],
  ['has a second line', `00-${traceId}-${spanId}-01\n`],
  ['is empty', ''],
  ['is no text', 7],
])('one that %s belongs to no trace', (_, text) => {
  expect(parseTraceparent(text)).toBeNull();
});

test('a span that is not recorded, or invalid, has no header', () => {
  expect(traceparentOf({ traceId, spanId, traceFlags: 0 })).toBeNull();
  expect(traceparentOf({ traceId: '0'.repeat(32), spanId: '0'.repeat(16), traceFlags: 1 })).toBeNull();
});
