import { parseItemId } from './itemId';

/** The items of one segment that a call acks. */
export interface SegmentWant {
  fanout: string;
  segment: number;
  /** Places in the segment, ascending and without repeats. */
  indexes: number[];
}

/**
 * Groups the ids of a call by segment, and returns the malformed ids separately. A repeated id
 * counts once. The groups are ordered by fan-out (as first named) and segment, so that a portion
 * touches few segments.
 */
export const groupItems = (ids: readonly string[]): { wants: SegmentWant[]; malformed: string[] } => {
  const byFanout = new Map<string, Map<number, Set<number>>>();
  const malformed: string[] = [];
  for (const id of ids) {
    const place = parseItemId(id);
    if (place === null) {
      malformed.push(id);
      continue;
    }
    let segments = byFanout.get(place.fanout);
    if (segments === undefined) byFanout.set(place.fanout, (segments = new Map<number, Set<number>>()));
    const indexes = segments.get(place.segment);
    if (indexes === undefined) segments.set(place.segment, new Set([place.index]));
    else indexes.add(place.index);
  }
  const wants = [...byFanout].flatMap(([fanout, segments]) =>
    [...segments]
      .sort(([a], [b]) => a - b)
      .map(([segment, indexes]) => ({ fanout, segment, indexes: [...indexes].sort((a, b) => a - b) })),
  );
  return { wants, malformed };
};

/**
 * Yields portions of at most `perCall` ids. A segment with more ids is spread over several
 * portions.
 */
export function* splitWants(wants: readonly SegmentWant[], perCall: number): Generator<SegmentWant[]> {
  let portion: SegmentWant[] = [];
  let room = perCall;
  for (const { indexes, ...place } of wants)
    for (let from = 0; from < indexes.length;) {
      const part = indexes.slice(from, from + room);
      portion.push({ ...place, indexes: part });
      from += part.length;
      room -= part.length;
      if (room > 0) continue;
      yield portion;
      portion = [];
      room = perCall;
    }
  if (portion.length > 0) yield portion;
}
