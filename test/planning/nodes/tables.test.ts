import { assign } from '../../../workflows/planning/nodes/assign';
import type { NodeFacts, PartitionFacts } from '../../../workflows/planning/nodes/types';
import {
  applied,
  countsOf,
  dead,
  expired,
  held,
  limitsOf,
  moved,
  node,
  nodes,
  numbered,
  partition,
  settle,
  short,
  spread,
} from './world';

/** Small examples of who gets what, one per row. */

/** What X takes in the end: given, or taken from somebody. */
const takes = (who: string, partitions: readonly PartitionFacts[], among: readonly NodeFacts[], limits = limitsOf()) =>
  assign(partitions, among, limits)
    .filter(({ to }) => to === who)
    .map(({ partition: id }) => id)
    .sort();

describe('what node X takes', () => {
  test('fair share reached: 1:b 2:a 3:a and 0 free: a takes nothing [B1 B2]', () => {
    const now = held({ '': [0], b: [1], a: [2, 3] });
    expect(takes('a', now, nodes('a', 'b'))).toEqual([]);
    expect(takes('b', now, nodes('a', 'b'))).toEqual(['0']);
  });

  test('spare one: 1:b 2:a and 0 free: a takes 0 [B1]', () => {
    expect(takes('a', held({ '': [0], b: [1], a: [2] }), nodes('a', 'b'))).toEqual(['0']);
  });

  test('balanced even: 0:b 1:b 2:a 3:a: nothing [B2]', () => {
    expect(assign(held({ b: [0, 1], a: [2, 3] }), nodes('a', 'b'), limitsOf())).toEqual([]);
  });

  test.each([
    ['odd', [0, 1, 2], 1],
    ['even', [0, 1, 2, 3], 2],
  ])('steal %s: all of a, b takes its part, one at a time [B14]', (_, all, total) => {
    const before = held({ a: all });
    const { rounds, partitions } = settle(before, nodes('a', 'b'), limitsOf({ movesPerRound: 1 }));
    const revokes = rounds.map((moves) => moves.filter(({ kind }) => kind === 'revoke').length);
    expect(Math.max(...revokes)).toBe(1);
    expect(revokes.reduce((sum, each) => sum + each)).toBe(total);
    expect(moved(before, partitions)).toBe(total);
  });

  test('nobody owns: 4 parts, a alone takes all 4 [B1]', () => {
    expect(takes('a', held({ '': [0, 1, 2, 3] }), nodes('a'))).toEqual(['0', '1', '2', '3']);
  });

  test.each([
    ['ran out', ['0']],
    ['holds', []],
  ])('expiry: the lease of 0:b %s: a takes %j [B3 B16]', (lease, expected) => {
    const now = [partition('0', 'b', { expired: lease === 'ran out' }), partition('1', 'a')];
    expect(takes('a', now, [node('a'), dead('b')])).toEqual(expected);
  });

  test('expired owner not counted: 0:b expired, 1:a, 2 and 3 free: a takes 0, 2, 3 [B16]', () => {
    const now = expired(held({ b: [0], a: [1], '': [2, 3] }), 'b');
    expect(takes('a', now, [node('a'), dead('b')])).toEqual(['0', '2', '3']);
  });
});

/**
 * Every sticky case: no partition in two places, max - min <= 1, a repeated call with its own
 * output moves nothing.
 */
const sticky = (before: readonly PartitionFacts[], among: readonly NodeFacts[]) => {
  const limits = limitsOf();
  const first = assign(before, among, limits);
  const ids = first.map(({ partition: id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
  expect(assign(applied(before, first), among, limits).filter(({ kind }) => kind === 'revoke')).toEqual([]);
  const { partitions, rounds } = settle(before, among, limits);
  expect(rounds.length).toBeLessThanOrEqual(4);
  const live = among.filter(({ alive }) => alive);
  expect(spread(countsOf(partitions, live))).toBeLessThanOrEqual(1);
  expect(countsOf(partitions, live).reduce((sum, each) => sum + each)).toBe(before.length);
  expect(assign(partitions, among, limits)).toEqual([]);
  return { partitions, rounds, sizes: countsOf(partitions, live), moved: moved(before, partitions) };
};

describe('sticky', () => {
  test('own 2/2 of 5: the fifth goes to one, nothing else moves [B2 B13]', () => {
    const { rounds, sizes, moved: went } = sticky(held({ c1: [0, 1], c2: [2, 3], '': [4] }), nodes('c1', 'c2'));
    expect([went, sizes]).toEqual([0, [3, 2]]);
    expect(rounds.map(short)).toEqual([['assign 4 ->c1 free']]);
  });

  test('own 2/2 of 4, c3 joins: exactly one moves [B14]', () => {
    const result = sticky(held({ c1: [0, 1], c2: [2, 3] }), nodes('c1', 'c2', 'c3'));
    expect([result.moved, result.sizes]).toEqual([1, [1, 2, 1]]);
  });

  test('3 on c1, c2 joins: only one moves [B14]', () => {
    const result = sticky(held({ c1: [0, 1, 2] }), nodes('c1', 'c2'));
    expect([result.moved, result.sizes]).toEqual([1, [2, 1]]);
  });

  test('7 on two nodes, two more join: 2,2,2,1 and exactly 3 move [B14]', () => {
    const result = sticky(held({ c1: [0, 1, 2, 3], c2: [4, 5, 6] }), nodes('c1', 'c2', 'c3', 'c4'));
    expect([result.moved, [...result.sizes].sort()]).toEqual([3, [1, 2, 2, 2]]);
  });

  test('c1 leaves: each survivor keeps its own [B3 B16]', () => {
    const before = expired(held({ c1: [0, 1, 2], c2: [3, 4, 5], c3: [6, 7, 8] }), 'c1');
    const result = sticky(before, [dead('c1'), ...nodes('c2', 'c3')]);
    expect(result.moved).toBe(0);
    expect(result.rounds).toHaveLength(1);
  });

  test('one partition, many nodes: one holds it and keeps it [B15]', () => {
    const among = numbered(0, 40).map((id) => node(id));
    const { partitions } = settle(held({ '': [0] }), among, limitsOf());
    expect(partitions[0]).toMatchObject({ holder: '000000', epoch: 1 });
    for (let round = 0; round < 12; round++)
      expect(assign(partitions, among.slice(0, 1 + 3 * round), limitsOf())).toEqual([]);
  });
});

describe('cooperative', () => {
  test('what is revoked for a joining node is given in a later round; until it is free nothing more is said [B10 B11]', () => {
    const among = nodes('a', 'b');
    const before = held({ a: [0, 1, 2, 3] });
    const first = assign(before, among, limitsOf());
    expect(short(first)).toEqual(['revoke 3 a>b uneven', 'revoke 2 a>b uneven']);
    const waiting = applied(before, first);
    expect(assign(waiting, among, limitsOf())).toEqual([]);
    // One was given up, the other not yet.
    const half = waiting.map((facts) => (facts.id === '3' ? { ...facts, expired: true } : facts));
    expect(short(assign(half, among, limitsOf()))).toEqual(['assign 3 a>b expired']);
    const none = waiting.map((facts) => (facts.revokedFor === null ? facts : { ...facts, holder: null }));
    expect(short(assign(none, among, limitsOf()))).toEqual(['assign 2 ->b free', 'assign 3 ->b free']);
  });

  test('a joining node that is given what is free has nothing revoked for it in that round [B14]', () => {
    const before = held({ a: [0, 1, 2, 3, 4], b: [5, 6, 7, 8, 9], '': ['x'] });
    const among = nodes('a', 'b', 'c');
    expect(short(assign(before, among, limitsOf()))).toEqual(['assign x ->c free']);
    const { rounds, partitions } = settle(before, among, limitsOf());
    expect(rounds.map((moves) => [...new Set(moves.map(({ kind }) => kind))])).toEqual([
      ['assign'],
      ['revoke'],
      ['assign'],
    ]);
    expect([...countsOf(partitions, among)].sort()).toEqual([3, 4, 4]);
  });

  test('at most four rounds, also where one revoke would wait for the next (found by chance) [B14]', () => {
    const now = [
      partition('0', 'c'),
      partition('1', null),
      partition('2', 'd', { pinned: 'x' }),
      partition('3', 'x', { revokedFor: 'x' }),
    ];
    const { rounds } = settle(now, [node('c', { draining: true }), node('d'), node('x')], limitsOf());
    expect(rounds.map(short)).toEqual([
      ['assign 1 ->d free'],
      ['assign 3 x>x expired'],
      ['revoke 2 d>x pinned', 'revoke 0 c>d drain'],
      ['assign 0 c>d expired', 'assign 2 d>x expired'],
    ]);
  });
});
