import type { SpanContext } from '@opentelemetry/api';
import { parseTraceparent } from '../../handlers/tracing/traceparent';
import type { MemberTask } from '../../postgres/calls/members';

/** Most traces of one batch that are followed: as many as a span may have links by default. */
const TRACES_MAX = 128;

/** The members of a batch that were submitted under one trace context. */
export interface Traced {
  context: SpanContext;
  /** When the first of them was accepted: Unix milliseconds of the database's clock. */
  sinceMs: number;
  /** Their places in the batch. */
  places: number[];
}

/** Returns the trace contexts under which the members of a batch were submitted. */
export const tracesOf = (members: readonly Pick<MemberTask, 'trace' | 'tracedAtMs'>[]): Traced[] => {
  const found = new Map<string, Traced>();
  members.forEach(({ trace, tracedAtMs }, place) => {
    if (trace === null) return;
    const known = found.get(trace);
    if (known !== undefined) {
      known.places.push(place);
      known.sinceMs = Math.min(known.sinceMs, tracedAtMs!);
      return;
    }
    const context = found.size < TRACES_MAX ? parseTraceparent(trace) : null;
    if (context !== null) found.set(trace, { context, sinceMs: tracedAtMs!, places: [place] });
  });
  return [...found.values()];
};
