import type { StoredSpan } from './jaeger';

const parentOf = ({ references, traceID }: StoredSpan): string | undefined =>
  references.find((one) => one.refType === 'CHILD_OF' && one.traceID === traceID)?.spanID;

/** Returns spans as lines, each below its parent and indented, in the order of their start. */
export const outlineOf = (spans: readonly StoredSpan[]): string => {
  const known = new Set(spans.map(({ spanID }) => spanID));
  const isTop = (span: StoredSpan): boolean => !known.has(parentOf(span) ?? '');
  const below = (parent: string | null, depth: number): string[] =>
    spans
      .filter((span) => (parent === null ? isTop(span) : parentOf(span) === parent))
      .toSorted((a, b) => a.startTime - b.startTime)
      .flatMap((span) => [
        `${'  '.repeat(depth)}${span.operationName} ${Math.round(span.duration / 1_000)} ms`,
        ...below(span.spanID, depth + 1),
      ]);
  return below(null, 0).join('\n');
};
