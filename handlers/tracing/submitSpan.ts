import type { Context } from '@opentelemetry/api';
import type { OpenTelemetry } from './openTelemetry';
import { openTelemetry, TRACER } from './openTelemetry';
import { parseTraceparent, traceparentOf } from './traceparent';

interface Submit {
  handler: string;
  tasks: number;
  /** Where no span is active: the trace context that the caller was given. */
  traceparent?: string | undefined;
}

/**
 * Stores tasks within a span, if spans are recorded. `store` is given the trace context that the
 * tasks are to be stored with; null: their trace is not recorded.
 */
export const withinSubmitSpan = async <T>(
  { handler, tasks, traceparent }: Submit,
  store: (trace: string | null) => Promise<T>,
): Promise<T> => {
  const given = parseTraceparent(traceparent);
  const otel = openTelemetry();
  if (otel === null) return store(given === null ? null : traceparentOf(given));
  const parent = parentOf(otel, given);
  const span = otel.trace.getTracer(TRACER).startSpan(
    `muster submit ${handler}`,
    {
      kind: otel.SpanKind.PRODUCER,
      attributes: {
        'messaging.system': 'muster',
        'messaging.operation.type': 'send',
        'messaging.destination.name': handler,
        'messaging.batch.message_count': tasks,
      },
    },
    parent,
  );
  try {
    return await otel.context.with(otel.trace.setSpan(parent, span), () => store(traceparentOf(span.spanContext())));
  } catch (error) {
    span.recordException(error as Error);
    span.setStatus({ code: otel.SpanStatusCode.ERROR, message: (error as Error).message });
    throw error;
  } finally {
    span.end();
  }
};

const parentOf = (otel: OpenTelemetry, given: ReturnType<typeof parseTraceparent>): Context => {
  const active = otel.context.active();
  return given === null || otel.trace.getSpan(active) !== undefined ? active : otel.trace.setSpanContext(active, given);
};
