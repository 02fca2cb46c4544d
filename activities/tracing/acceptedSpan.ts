import { openTelemetry, TRACER } from '../../handlers/tracing/openTelemetry';
import type { Call } from '../calls/call';
import type { CallEnd } from '../calls/door';
import { noteOutcome, spanAttributes } from './callSpan';
import { tracesOf } from './contexts';
import { localTimes } from './times';

/**
 * Records, in each trace under which tasks of an accepted batch were submitted, the time from the
 * call that was accepted to what the downstream reported of it. The call may be another process's.
 */
export const recordReported = (call: Call, outcome: CallEnd): void => {
  const otel = openTelemetry();
  if (otel === null) return;
  const { trace, ROOT_CONTEXT, SpanKind } = otel;
  const startTime = localTimes(call).calledAt();
  for (const { context, places } of tracesOf(call.members)) {
    const options = { kind: SpanKind.INTERNAL, startTime, attributes: spanAttributes(call, 'settle', places.length) };
    const parent = trace.setSpanContext(ROOT_CONTEXT, context);
    const span = trace.getTracer(TRACER).startSpan(`muster accepted ${call.handler.name}`, options, parent);
    noteOutcome(otel, span, outcome, places.length, new Set(places));
    span.end();
  }
};
