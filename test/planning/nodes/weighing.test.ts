import { assign } from '../../../workflows/planning/nodes/assign';
import type { PartitionFacts } from '../../../workflows/planning/nodes/types';
import { limitsOf, node, nodes, partition, settle, short } from './world';

/** B17: which partition goes, and where to, by weight. The dead band is 9 to 11. */

const limits = limitsOf({ by: 'weight' });
const weighing = (holder: string | null, ...weights: number[]): PartitionFacts[] =>
  weights.map((weight, i) => partition(`${holder ?? 'new'}${i}-${weight}`, holder, { weight }));
const goes = (partitions: readonly PartitionFacts[], ...ids: string[]): string[] =>
  short(assign(partitions, nodes(...ids), limits));

test('what is new goes to the least load, not to the fewest partitions', () => {
  const now = [...weighing('a', 5), ...weighing('b', 0.3, 0.3, 0.3), ...weighing(null, 0.1)];
  expect(goes(now, 'a', 'b')).toEqual(['assign new0-0.1 ->b free']);
});

test('the heaviest that leaves its node within the band goes first, not one that leaves it below', () => {
  const now = [...weighing('a', 8, 5, 3), ...weighing('b', 2), ...weighing('c', 12)];
  expect(goes(now, 'a', 'b', 'c')).toEqual(['revoke a1-5 a>b load', 'revoke a2-3 a>b load']);
});

test('the heaviest that leaves its taker within the band goes first, not one that lifts it above', () => {
  const now = [...weighing('a', 8, 5, 7), ...weighing('b', 6), ...weighing('c', 4)];
  expect(goes(now, 'a', 'b', 'c')).toEqual(['revoke a2-7 a>c load', 'revoke a1-5 a>b load']);
});

test('at the edges of the band a node is within it', () => {
  expect(goes([...weighing('a', 4.5, 5, 4.5), ...weighing('b', 6)], 'a', 'b')).toEqual(['revoke a1-5 a>b load']);
});

describe('idle ones that only some nodes may have', () => {
  const idle = (holder: string | null, n: number): PartitionFacts[] =>
    Array.from({ length: n }, (_, i) => partition(`${holder}${i}`, holder, { weight: 0, handler: 'mail' }));
  const among = ['a', 'b', 'c', 'd'].map((id) => node(id, { handlers: id < 'c' ? ['mail'] : [] }));

  test('go from one with two more to one with two fewer, though both have too many', () => {
    expect(short(assign([...idle('a', 7), ...idle('b', 5)], among, limits))).toHaveLength(1);
    expect(short(assign([...idle('a', 7), ...idle('b', 6)], among, limits))).toEqual([]);
  });
  test('are given to the one with the fewest, where all have too many', () => {
    const given = (a: number, b: number): (string | null)[] =>
      assign([...idle('a', a), ...idle('b', b), ...idle(null, 1)], among, limits).map(({ to }) => to);
    expect([given(6, 5), given(5, 6)]).toEqual([['b'], ['a']]);
  });
});

test('of idle ones that are too many, those go that were there longest', () => {
  const now = [1, 2, 3, 4, 5, 6].map((s) => partition(String(s), 'a', { weight: 0, heldMs: 1_000 * s }));
  expect(goes(now, 'a', 'b')).toEqual(['revoke 6 a>b uneven']);
});

test('one move per round: a move that has begun is finished, so that it is not begun without end [B2 B17]', () => {
  const facts = [
    partition('pinned', 'b', { weight: 2, pinned: 'b' }),
    partition('light', 'b', { weight: 0.1 }),
    partition('heavy', 'b', { weight: 100 }),
    partition('other', 'd', { weight: 2 }),
  ];
  const { rounds, partitions } = settle(facts, nodes('b', 'd', 'e'), { ...limits, movesPerRound: 1 });
  expect(rounds.flat().filter(({ kind }) => kind === 'revoke').length).toBeLessThanOrEqual(3);
  expect(partitions.find(({ id }) => id === 'heavy')!.holder).toBe('e');
});

test('a light one that a heavy one follows to the same node goes elsewhere in the same plan: all is settled after it [B2 B17]', () => {
  const now = [
    partition('light', 'b', { weight: 0.1 }),
    partition('pinned', 'b', { weight: 2, pinned: 'b' }),
    partition('heavy', 'b', { weight: 100 }),
    partition('other', 'a', { weight: 1 }),
  ];
  const { rounds } = settle(now, nodes('a', 'b', 'c'), { ...limits, movesPerRound: Infinity });
  expect(rounds.map((moves) => moves.map(({ explanation }) => explanation))).toEqual([
    [
      'light is to go from b to a: one node has a load of 102.1, a has a load of 1',
      'heavy is to go from b to c: one node has a load of 102, c has a load of 0.1',
    ],
    [expect.stringContaining('heavy goes to c'), expect.stringContaining('light goes to a')],
  ]);
});
