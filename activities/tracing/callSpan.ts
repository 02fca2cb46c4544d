import type { Context, Span, SpanContext } from '@opentelemetry/api';
import type { OpenTelemetry } from '../../handlers/tracing/openTelemetry';
import { openTelemetry, TRACER } from '../../handlers/tracing/openTelemetry';
import { traceparentOf } from '../../handlers/tracing/traceparent';
import type { Call } from '../calls/call';
import type { CallEnd } from '../calls/door';
import type { Traced } from './contexts';
import { tracesOf } from './contexts';
import { localTimes } from './times';

/** The span of one downstream call. */
export interface CallSpan {
  /** For the downstream; undefined: the trace is not recorded. */
  readonly traceparent: string | undefined;
  /** Runs the call with its span active, so that instrumented clients continue the trace. */
  run<T>(work: () => Promise<T>): Promise<T>;
  /** Ends the span, and records in each task's trace how long it was queued, and the call. */
  end(outcome: CallEnd): void;
}

/**
 * Begins the span of a call. Where all its tasks were submitted under one trace context, it belongs
 * to that trace. Otherwise it begins a new one with a link to each of theirs, and each of
 * theirs has a span with a link to it.
 */
export const startCallSpan = (call: Call): CallSpan => {
  const traces = tracesOf(call.members);
  const [first] = traces;
  const isShared = traces.length === 1 && first!.places.length === call.members.length;
  const parent = isShared ? first!.context : null;
  const otel = openTelemetry();
  if (otel === null) return untraced(parent);
  return new TracedCall(otel, call, traces, parent);
};

const untraced = (shared: SpanContext | null): CallSpan => ({
  traceparent: (shared && traceparentOf(shared)) ?? undefined,
  run: (work) => work(),
  end: () => undefined,
});

class TracedCall implements CallSpan {
  readonly traceparent: string | undefined;
  private readonly startedAtMs = Date.now();
  private readonly active: Context;
  private readonly span: Span;

  constructor(
    private readonly otel: OpenTelemetry,
    private readonly call: Call,
    private readonly traces: readonly Traced[],
    private readonly parent: SpanContext | null,
  ) {
    const { trace, ROOT_CONTEXT, SpanKind } = otel;
    const root = parent === null ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, parent);
    const options = {
      kind: SpanKind.CLIENT,
      startTime: this.startedAtMs,
      attributes: spanAttributes(call, 'send', call.members.length),
      links: parent === null ? traces.map(({ context }) => ({ context })) : [],
    };
    this.span = trace.getTracer(TRACER).startSpan(`muster call ${call.handler.name}`, options, root);
    this.active = trace.setSpan(otel.context.active(), this.span);
    this.traceparent = traceparentOf(this.span.spanContext()) ?? undefined;
  }

  run<T>(work: () => Promise<T>): Promise<T> {
    return this.otel.context.with(this.active, work);
  }

  end(outcome: CallEnd): void {
    const endedAtMs = Date.now();
    noteOutcome(this.otel, this.span, outcome, this.call.members.length, null);
    this.span.end(endedAtMs);
    for (const traced of this.traces) this.tell(traced, outcome, endedAtMs);
  }

  /** Records in a task's own trace what became of the tasks that were submitted under it. */
  private tell({ context, sinceMs, places }: Traced, outcome: CallEnd, endedAtMs: number): void {
    const { trace, ROOT_CONTEXT, SpanKind } = this.otel;
    const tracer = trace.getTracer(TRACER);
    const theirs = trace.setSpanContext(ROOT_CONTEXT, context);
    const startTime = Math.min(this.startedAtMs, localTimes(this.call).queuedAt(sinceMs, places));
    const { name } = this.call.handler;
    tracer
      .startSpan(
        `muster queued ${name}`,
        { startTime, attributes: spanAttributes(this.call, 'queue', places.length) },
        theirs,
      )
      .end(this.startedAtMs);
    if (this.parent !== null) return; // the call itself is in this trace
    const options = {
      kind: SpanKind.CONSUMER,
      startTime: this.startedAtMs,
      attributes: spanAttributes(this.call, 'process', places.length),
      links: [{ context: this.span.spanContext() }],
    };
    const span = tracer.startSpan(`muster handle ${name}`, options, theirs);
    noteOutcome(this.otel, span, outcome, places.length, new Set(places));
    span.end(endedAtMs);
  }
}

/** Returns what every span of a batch says of it. */
export const spanAttributes = (
  { batch, attempt, handler }: Call,
  operation: string,
  tasks: number,
): Record<string, string | number> => ({
  'messaging.system': 'muster',
  'messaging.operation.type': operation,
  'messaging.destination.name': handler.name,
  'messaging.batch.message_count': tasks,
  'muster.target': batch.target,
  'muster.batch': String(batch.id),
  'muster.attempt': attempt,
});

/** Notes on a span what became of a call, as far as it concerns these places; null: all. */
export const noteOutcome = (
  otel: OpenTelemetry,
  span: Span,
  outcome: CallEnd,
  tasks: number,
  places: ReadonlySet<number> | null,
): void => {
  span.setAttribute('muster.outcome', outcome.kind);
  if (outcome.kind === 'accepted') return;
  if (outcome.kind !== 'results') {
    const message = 'error' in outcome ? outcome.error : outcome.kind;
    span.setStatus({ code: otel.SpanStatusCode.ERROR, message });
    return;
  }
  const notOk = outcome.deviants.filter(({ index }) => places === null || places.has(index));
  span.setAttribute('muster.tasks.ok', tasks - notOk.length);
  const [first] = notOk;
  if (first === undefined) return;
  for (const status of new Set(notOk.map((one) => one.status)))
    span.setAttribute(`muster.tasks.${status}`, notOk.filter((one) => one.status === status).length);
  span.setStatus({ code: otel.SpanStatusCode.ERROR, message: first.error ?? first.status });
};
