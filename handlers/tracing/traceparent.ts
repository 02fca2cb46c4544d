import type { SpanContext } from '@opentelemetry/api';

/** The header of W3C Trace Context, version 00. */

const FORM = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})$/;
const SAMPLED = 1;

/** The name of the header. */
export const TRACEPARENT = 'traceparent';

/** Returns the header of a span; null: its trace is not recorded. */
export const traceparentOf = ({ traceId, spanId, traceFlags }: SpanContext): string | null => {
  const text = `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`;
  return (traceFlags & SAMPLED) === SAMPLED && FORM.test(text) ? text : null;
};

/** Parses a header that was received; null: it is malformed, or its trace is not recorded. */
export const parseTraceparent = (text: unknown): SpanContext | null => {
  const [, traceId, spanId, flags] = (typeof text === 'string' && FORM.exec(text)) || [];
  if (traceId === undefined || spanId === undefined) return null;
  const traceFlags = parseInt(flags!, 16) & SAMPLED;
  return traceFlags === SAMPLED ? { traceId, spanId, traceFlags, isRemote: true } : null;
};
