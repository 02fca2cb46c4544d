import { context, trace } from '@opentelemetry/api';
import type { Span } from '@opentelemetry/api';
import { InMemorySpanExporter, NodeTracerProvider, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-node';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-node';

export interface Recorder {
  /** Returns the spans that have ended, of this handler if it is given. */
  spans(handler?: string): ReadableSpan[];
  /** Runs work within a span of the application. */
  within<T>(name: string, work: (span: Span) => Promise<T>): Promise<T>;
  stop(): Promise<void>;
}

/** Registers an SDK of OpenTelemetry that keeps spans in memory. `stop` takes it away again. */
export const recordSpans = (): Recorder => {
  const exporter = new InMemorySpanExporter();
  const provider = new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  provider.register();
  return {
    spans: (handler) =>
      exporter
        .getFinishedSpans()
        .filter(({ name }) => handler === undefined || (name.startsWith('muster') && name.endsWith(` ${handler}`))),
    within: (name, work) =>
      trace.getTracer('application').startActiveSpan(name, async (span) => {
        try {
          return await work(span);
        } finally {
          span.end();
        }
      }),
    stop: async () => {
      trace.disable();
      context.disable();
      await provider.shutdown();
    },
  };
};

/** Milliseconds since the epoch of a time of a span. */
export const msOf = ([seconds, nanoseconds]: readonly [number, number]): number => seconds * 1000 + nanoseconds / 1e6;
