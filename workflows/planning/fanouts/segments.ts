import { itemIdOf } from './itemId';

/**
 * The segments that an add created, as they cross the wire: the client derives the ids from them,
 * one by one.
 */
export interface SegmentRange {
  /** Number of the first segment. */
  first: number;
  items: number;
  /** Items per segment; the last segment has the remainder. */
  segmentSize: number;
}
export interface Segment {
  no: number;
  count: number;
}

/**
 * Items per segment, chosen by measurement (`npm run bench:fanout`, docs/performance.md): single
 * acks stay cheap, and an item takes at most about half a byte.
 */
export const DEFAULT_SEGMENT_SIZE = 512;
/**
 * Most items per add statement, unless the caller sets another number: few enough that the
 * transaction takes milliseconds.
 */
export const ADD_ITEMS = 10_000;
/** Most ids per ack statement, unless the caller sets another number. */
export const ACK_IDS = 100;
export const MAX_ACK_IDS = 10_000;
/** Most items per call of `addItems`: a billion is plausible, a mistyped trillion is not. */
export const MAX_ITEMS = 10_000_000_000;

export const MAX_USER_KEY_BYTES = 1_024;

/** Highest `itemsPerCall` that a caller may set. */
export const MAX_ADD_ITEMS = 1_000_000;

/**
 * Yields the sizes of the add statements that `items` items need, at most `perCall` items each, in
 * whole segments as far as possible, so that few segments are short. A generator, since a billion
 * items need 100,000 statements.
 */
export function* splitAdd(items: number, segmentSize: number, perCall: number): Generator<number> {
  const whole = Math.max(Math.floor(perCall / segmentSize) * segmentSize, Math.min(perCall, segmentSize));
  for (let left = items; left > 0; left -= whole) yield Math.min(whole, left);
}

/** Appends a range, or merges it with the last one if it directly continues that range. */
export const joinRanges = (ranges: SegmentRange[], next: SegmentRange): void => {
  const last = ranges.at(-1);
  const isNext =
    last !== undefined &&
    last.segmentSize === next.segmentSize &&
    last.items % last.segmentSize === 0 &&
    last.first + last.items / last.segmentSize === next.first;
  if (isNext) ranges[ranges.length - 1] = { ...last, items: last.items + next.items };
  else ranges.push(next);
};

export function* segmentsOf(range: SegmentRange): Generator<Segment> {
  for (let no = range.first, left = range.items; left > 0; no++, left -= range.segmentSize)
    yield { no, count: Math.min(left, range.segmentSize) };
}

/** Yields the ids of all items in these ranges, in order. */
export function* itemIds(fanout: string, ranges: Iterable<SegmentRange>): Generator<string> {
  for (const range of ranges)
    for (const { no, count } of segmentsOf(range))
      for (let index = 0; index < count; index++) yield itemIdOf(fanout, no, index);
}
