import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { groupItems, splitWants } from '../../workflows/planning/fanouts/acks';
import { isFanoutId, itemIdOf, parseItemId } from '../../workflows/planning/fanouts/itemId';
import type { SegmentRange } from '../../workflows/planning/fanouts/segments';
import * as segments from '../../workflows/planning/fanouts/segments';
import { itemIds, joinRanges, segmentsOf, splitAdd } from '../../workflows/planning/fanouts/segments';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;
const heldBytes = (): number => {
  collect();
  return process.memoryUsage().heapUsed;
};

const A = '0190f6a0-0000-4000-8000-000000000001';
const B = '0190f6a0-0000-4000-8000-00000000000b';

test('an item id says fan-out, segment and bit, in one spelling; anything else is none [D7 D8]', () => {
  expect(parseItemId(`${A}:12:7999`)).toEqual({ fanout: A, segment: 12, index: 7_999 });
  expect(parseItemId(itemIdOf(A, 2_147_483_647, 0))).toEqual({ fanout: A, segment: 2_147_483_647, index: 0 });
  const malformed = [
    '',
    A,
    `${A}:1`,
    `${A}:1:`,
    `${A}:01:1`,
    `${A}:1:01`,
    `${A}:-1:1`,
    `${A}:1:8000`,
    `${A}:2147483648:0`,
    `${A}:1:1 `,
    ` ${A}:1:1`,
    `${A.toUpperCase().replace('0190F6A0', '0190F6A0')}:1:1`,
    `${A}:1:1:1`,
    `${A}:1.0:1`,
    'x:1:1',
    `${A}:1:1\n`,
    null,
    7,
    undefined,
    [`${A}:1:1`],
  ];
  expect(malformed.map((id) => parseItemId(id))).toEqual(malformed.map(() => null));
  expect([A, B, `${A} `, A.replace('f', 'F'), [A], null].map(isFanoutId)).toEqual([
    ...[true, true],
    ...[false, false, false, false],
  ]);
});

test('8,001 items of segments of 8,000 are two segments, of 8,000 and 1 [D9]', () => {
  expect([...segmentsOf({ first: 4, items: 8_001, segmentSize: 8_000 })]).toEqual([
    { no: 4, count: 8_000 },
    { no: 5, count: 1 },
  ]);
});

test('a billion items are ranges and a stream, never a list [D13]', () => {
  const ranges: SegmentRange[] = [];
  let first = 0;
  let adds = 0;
  for (const items of splitAdd(1_000_000_000, 8_000, 10_000)) {
    joinRanges(ranges, { first, items, segmentSize: 8_000 });
    first += Math.ceil(items / 8_000);
    adds++;
  }
  expect(adds).toBe(125_000);
  expect(ranges).toEqual([{ first: 0, items: 1_000_000_000, segmentSize: 8_000 }]);
  const before = heldBytes();
  const ids = itemIds(A, ranges);
  let last = '';
  for (let i = 0; i < 1_000_000; i++) last = ids.next().value as string;
  expect(last).toBe(`${A}:124:7999`);
  // Two bytes per id: a list of them, or of as many numbers, takes far more.
  expect(heldBytes() - before).toBeLessThan(2_000_000);
  expect(ids.next().value).toBe(`${A}:125:0`); // so all of it was still held
});

const size = fc.integer({ min: 1, max: 8_000 });

test('splitAdd: nothing lost, at most so many a call, whole segments but the last', () => {
  const perCall = fc.integer({ min: 1, max: 20_000 });
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 20_000 }), size, perCall, (items, segment, most) => {
      const parts = [...splitAdd(items, segment, most)];
      const isWhole = most < segment || parts.slice(0, -1).every((part) => part % segment === 0);
      return parts.reduce((sum, part) => sum + part, 0) === items && parts.every((part) => part <= most) && isWhole;
    }),
  );
});

test('joinRanges and itemIds: joined or not, the ids are the same', () => {
  const adds = fc.array(fc.record({ items: fc.integer({ min: 1, max: 40 }), gap: fc.integer({ min: 0, max: 1 }) }), {
    maxLength: 12,
  });
  fc.assert(
    fc.property(adds, fc.integer({ min: 1, max: 10 }), (given, segmentSize) => {
      let first = 0;
      const ranges = given.map(({ items, gap }) => {
        const range = { first: first + gap, items, segmentSize };
        first = range.first + Math.ceil(items / segmentSize);
        return range;
      });
      const joined: SegmentRange[] = [];
      for (const range of ranges) joinRanges(joined, range);
      expect([...itemIds(A, joined)]).toEqual([...itemIds(A, ranges)]);
      expect(new Set(itemIds(A, ranges)).size).toBe(ranges.reduce((sum, { items }) => sum + items, 0));
    }),
  );
});

test('what holds where the caller says nothing, and the most that it may say', () => {
  const { DEFAULT_SEGMENT_SIZE, ADD_ITEMS, ACK_IDS } = segments;
  expect([...splitAdd(20_000, DEFAULT_SEGMENT_SIZE, ADD_ITEMS)]).toEqual([9_728, 9_728, 544]);
  const wants = [{ fanout: A, segment: 0, indexes: Array.from({ length: 250 }, (_, i) => i) }];
  expect([...splitWants(wants, ACK_IDS)].map(([want]) => want!.indexes.length)).toEqual([100, 100, 50]);
  expect([segments.MAX_ADD_ITEMS, segments.MAX_ACK_IDS, segments.MAX_ITEMS]).toEqual([1e6, 10_000, 1e10]);
  expect(segments.MAX_USER_KEY_BYTES).toBe(1_024);
});

test('segments and places ascend by number; a portion is full before the next one begins [D10]', () => {
  const { wants } = groupItems([`${A}:10:3`, `${A}:9:10`, `${A}:9:9`, `${A}:9:2`, `${B}:0:1`]);
  expect(wants).toEqual([
    { fanout: A, segment: 9, indexes: [2, 9, 10] },
    { fanout: A, segment: 10, indexes: [3] },
    { fanout: B, segment: 0, indexes: [1] },
  ]);
  const portions = [...splitWants(wants, 2)].map((portion) => portion.map(({ indexes }) => indexes));
  expect(portions).toEqual([[[2, 9]], [[10], [3]], [[1]]]);
  expect([...splitWants([], 2)]).toEqual([]);
});

test('ids of a call by fan-out and segment, each once; portions keep all of them and their bounds [D10]', () => {
  const id = fc
    .tuple(fc.constantFrom(A, B), fc.integer({ min: 0, max: 5 }), fc.integer({ min: 0, max: 20 }))
    .map(([f, s, i]) => itemIdOf(f, s, i));
  fc.assert(
    fc.property(fc.array(id, { maxLength: 200 }), fc.integer({ min: 1, max: 30 }), (ids, perCall) => {
      const { wants, malformed } = groupItems([...ids, 'nonsense']);
      expect(malformed).toEqual(['nonsense']);
      const portions = [...splitWants(wants, perCall)];
      const flat = portions
        .flat()
        .flatMap(({ fanout, segment, indexes }) => indexes.map((index) => itemIdOf(fanout, segment, index)));
      expect([...flat].sort()).toEqual([...new Set(ids)].sort());
      for (const portion of portions) {
        expect(portion.reduce((n, { indexes }) => n + indexes.length, 0)).toBeLessThanOrEqual(perCall);
        expect(new Set(portion.map(({ fanout, segment }) => `${fanout}:${segment}`)).size).toBe(portion.length);
      }
    }),
  );
});
