import { assign } from '../../../workflows/planning/nodes/assign';
import { byCodePoint } from '../../../workflows/planning/nodes/order';
import {
  countsOf,
  dead,
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
import type { NodeFacts, PartitionFacts } from '../../../workflows/planning/nodes/types';

/** Everything that is no table row: drains, abilities, pins, holds, limits, explanations. */

test('nobody there: nothing is said; a partition that no node is able to have stays where it is [B1]', () => {
  expect(assign(held({ a: [0], '': [1] }), [dead('a')], limitsOf())).toEqual([]);
  expect(assign(held({ a: [0], '': [1] }), [], limitsOf())).toEqual([]);
  const gpu = { attributes: { gpu: 'yes' } };
  const now = [partition('0', 'a', gpu), partition('1', null, gpu), partition('2', 'a'), partition('3', null)];
  expect(short(assign(now, nodes('a'), limitsOf()))).toEqual(['assign 3 ->a free']);
});

test('a draining node gives up all it has, whatever the minimum hold, and gets nothing [B10]', () => {
  const now = [partition('0', 'a', { heldMs: 1 }), partition('1', 'a'), partition('2', 'b'), partition('3', null)];
  const among = [node('a', { draining: true }), node('b'), node('c')];
  const limits = limitsOf({ minimumHoldMs: 1_000 });
  // c gets one, so that nothing is revoked for it in this round.
  expect(short(assign(now, among, limits))).toEqual(['assign 3 ->c free', 'revoke 1 a>b drain']);
  const { partitions, rounds } = settle(now, among, limits);
  expect(rounds.length).toBeLessThanOrEqual(4);
  expect(countsOf(partitions, among)).toEqual([0, 2, 2]);
  expect(partitions[2]!.holder).toBe('b');
});

test('a draining node keeps what nobody else is able to have [B10]', () => {
  expect(assign(held({ a: [0] }), [node('a', { draining: true })], limitsOf())).toEqual([]);
});

test('lost capability: what the node no longer has the attributes or the handler for goes, whatever the minimum hold', () => {
  const young = { heldMs: 1 };
  const now = [
    partition('0', 'a', { ...young, attributes: { zone: 'x' } }),
    partition('1', 'a', { ...young, handler: 'mail' }),
    partition('2', 'a', young),
    partition('3', 'b', { ...young, handler: 'constructor', attributes: { constructor: 'x' } }),
  ];
  const able = { attributes: { zone: 'x' }, handlers: ['mail'] };
  const limits = limitsOf({ minimumHoldMs: 1_000 });
  const moves = assign(now, [node('a', { attributes: { zone: 'y' } }), node('b', able)], limits);
  expect(short(moves)).toEqual(['revoke 0 a>b attributes', 'revoke 1 a>b attributes']);
  expect(moves.map(({ explanation }) => explanation)).toEqual([
    '0 is to go from a to b: a no longer has zone=x',
    '1 is to go from a to b: a no longer has handler mail',
  ]);
  expect(assign(now, [node('a', able), node('b', able)], limits)).toEqual([]);
});

describe('pinned', () => {
  test("an admin's move goes at once and stays, whatever the hold and the counts; the rest evens out around it", () => {
    const now = held({ a: [0, 1], b: [2, 3] }).map((facts) =>
      facts.id < '2' ? { ...facts, heldMs: 1, pinned: 'b' } : facts,
    );
    const limits = limitsOf({ minimumHoldMs: 1_000 });
    const { partitions } = settle(now, nodes('a', 'b'), limits);
    expect(partitions.map(({ holder }) => holder)).toEqual(['b', 'b', 'a', 'a']);
    const [first] = assign(now, nodes('a', 'b'), limits);
    expect(first).toMatchObject({
      kind: 'revoke',
      from: 'a',
      to: 'b',
      reason: 'pinned',
      explanation: '0 is to go from a to b: an operator pinned it there',
    });
  });

  test('by the name of the node too; a node that is dead, draining or not able is as if nobody had asked', () => {
    const pin = (to: string) => [partition('0', 'a', { pinned: to }), partition('1', 'b#1')];
    const b = node('b#1', { successorOf: 'b' });
    expect(short(assign(pin('b'), [node('a'), b], limitsOf()))).toEqual(
      ['revoke 1 b#1>a uneven', 'revoke 0 a>b#1 pinned'].reverse(),
    );
    for (const other of [dead('b#1'), node('b#1', { draining: true })])
      expect(assign(pin('b#1'), [node('a'), other], limitsOf()).filter(({ partition: id }) => id === '0')).toEqual([]);
    const unable = pin('b#1').map((facts) => ({ ...facts, handler: facts.id === '0' ? 'mail' : null }));
    expect(assign(unable, [node('a', { handlers: ['mail'] }), b], limitsOf())).toEqual([]);
  });
});

describe('each handler by itself, at no move more [B1]', () => {
  const spreads = (
    partitions: readonly PartitionFacts[],
    among: readonly NodeFacts[],
    handlers: readonly string[],
  ): number[][] =>
    handlers.map((handler) =>
      countsOf(
        partitions.filter((facts) => facts.handler === handler),
        among,
      ),
    );
  const HANDLERS = ['mail', 'push', 'sms'];
  const able = (id: string): NodeFacts => node(id, { handlers: HANDLERS });
  const fleet = (holders: readonly string[], handlers: readonly string[], each: number): PartitionFacts[] =>
    handlers.flatMap((handler) =>
      Array.from({ length: each }, (_, no) =>
        partition(`${handler}/${no}`, holders[no % holders.length]!, { handler }),
      ),
    );

  test.each([
    [2, 32, ['a'], ['a', 'b'], 32],
    [2, 32, ['a', 'b'], ['a', 'b', 'c', 'd'], 32],
    [3, 30, ['a', 'b'], ['a', 'b', 'c'], 30],
    [3, 31, ['a'], ['a', 'b', 'c'], 62],
  ])('%d handlers with %d partitions each, of %j, among %j: %d moves', (n, each, holders, ids, most) => {
    const handlers = HANDLERS.slice(0, n);
    const among = ids.map(able);
    const now = fleet(holders, handlers, each);
    const { partitions } = settle(now, among, limitsOf());
    expect(moved(now, partitions)).toBe(most);
    for (const counts of spreads(partitions, among, handlers)) expect(spread(counts)).toBeLessThanOrEqual(1);
    expect(spread(countsOf(partitions, among))).toBeLessThanOrEqual(1);
    // In small rounds the same.
    const slowly = settle(now, among, limitsOf({ movesPerRound: 5 })).partitions;
    for (const counts of spreads(slowly, among, handlers)) expect(spread(counts)).toBeLessThanOrEqual(2);
    expect(moved(now, slowly)).toBe(most);
  });

  test('what is new stays, though its handler is uneven then; what a node is not able to have does not go to it', () => {
    const now = fleet(['a'], ['mail', 'sms'], 4).map((facts) =>
      facts.handler === 'sms' ? { ...facts, heldMs: 1 } : facts,
    );
    const young = assign(now, ['a', 'b'].map(able), limitsOf({ minimumHoldMs: 100 }));
    expect(young.map(({ partition: id }) => id.split('/')[0])).toEqual(['mail', 'mail', 'mail', 'mail']);
    const old = fleet(['a'], ['mail', 'sms'], 4);
    const moves = assign(old, [able('a'), node('b', { handlers: ['mail'] })], limitsOf());
    expect(moves.map(({ partition: id }) => id.split('/')[0])).toEqual(['mail', 'mail', 'mail', 'mail']);
  });
});

describe('minimum hold [B13]', () => {
  const limits = limitsOf({ minimumHoldMs: 1_000 });
  const withHold = (heldMs: number) => held({ a: [0, 1, 2, 3] }).map((facts) => ({ ...facts, heldMs }));

  test('what has just moved stays for the minimum hold, then goes', () => {
    expect(assign(withHold(999), nodes('a', 'b'), limits)).toEqual([]);
    expect(assign(withHold(1_000), nodes('a', 'b'), limits)).toHaveLength(2);
  });

  test('of one node the ones go that were there longest; of two as full nodes the one that may give gives', () => {
    const now = withHold(1_000).map((facts) =>
      facts.id === '2' ? { ...facts, heldMs: 5_000 } : facts.id === '3' ? { ...facts, heldMs: 10 } : facts,
    );
    expect(short(assign(now, nodes('a', 'b'), limits))).toEqual(['revoke 2 a>b uneven', 'revoke 1 a>b uneven']);
    const two = [partition('0', 'a', { heldMs: 1 }), partition('1', 'a', { heldMs: 1 }), ...held({ b: [2, 3] })];
    expect(short(assign(two, nodes('a', 'b', 'c'), limits))).toEqual(['revoke 3 b>c uneven']);
  });
});

describe('limits of a round', () => {
  test('at most so many revokes; what nobody holds is given out at once', () => {
    const now = held({ a: numbered(0, 10), '': numbered(10, 20) });
    const limits = limitsOf({ movesPerRound: 2 });
    expect(assign(now, nodes('a', 'b'), limits)).toHaveLength(10);
    const { rounds, partitions } = settle(held({ a: numbered(0, 20) }), nodes('a', 'b'), limits);
    for (const moves of rounds) expect(moves.filter(({ kind }) => kind === 'revoke').length).toBeLessThanOrEqual(2);
    expect(countsOf(partitions, nodes('a', 'b'))).toEqual([10, 10]);
    expect(assign(held({ a: [0, 1] }), nodes('a', 'b'), limitsOf({ movesPerRound: 0 }))).toEqual([]);
  });

  test('the most urgent first: pinned, lost ability, drain, then evenness', () => {
    const now = [
      ...held({ a: [1, 2, 3, 4], d: [5] }),
      partition('6', 'a', { handler: 'mail' }),
      partition('7', 'a', { pinned: 'c' }),
    ];
    const among = [node('a'), node('b', { handlers: ['mail'] }), node('c'), node('d', { draining: true })];
    const reasons = assign(now, among, limitsOf()).map(({ reason }) => reason);
    expect(reasons).toEqual(['pinned', 'attributes', 'drain', 'uneven']);
    for (let movesPerRound = 0; movesPerRound < 4; movesPerRound++)
      expect(assign(now, among, limitsOf({ movesPerRound })).map(({ reason }) => reason)).toEqual(
        reasons.slice(0, movesPerRound),
      );
    const byWeight = assign(now, among, limitsOf({ by: 'weight' })).map(({ reason }) => reason);
    expect([byWeight.slice(0, 3), new Set(byWeight.slice(3))]).toEqual([reasons.slice(0, 3), new Set(['load'])]);
  });
});

test('held by a dead node whose lease has not ended: nothing is said, and nothing shuffles meanwhile [B3]', () => {
  const now = held({ a: [0, 1, 2], b: [3, 4, 5], c: [6, 7, 8] });
  expect(assign(now, [dead('a'), ...nodes('b', 'c')], limitsOf())).toEqual([]);
  expect(assign(now, nodes('b', 'c'), limitsOf())).toEqual([]); // a's row is gone
});

test('a lease that ended while its node lives goes back to it, if it is still its share', () => {
  const now = [partition('0', 'a', { expired: true }), ...held({ a: [1], b: [2, 3] })];
  const [move] = assign(now, nodes('a', 'b'), limitsOf());
  expect(move).toMatchObject({
    kind: 'assign',
    to: 'a',
    explanation: '0 goes to a: the lease of a ended and it may keep it; a then has 2 partitions',
  });
  const full = [partition('0', 'a', { expired: true }), ...held({ a: [1, 4], b: [2] })];
  expect(short(assign(full, nodes('a', 'b'), limitsOf()))).toEqual(['assign 0 a>b expired']);
});

test('who a revoke was for is given it only if that is sensible when it is free', () => {
  const pending = [partition('0', 'a', { revokedFor: 'b', expired: true }), ...held({ a: [1], c: [2] })];
  expect(short(assign(pending, nodes('a', 'b', 'c'), limitsOf()))).toEqual(['assign 0 a>b expired']);
  expect(short(assign(pending, [...nodes('a', 'c'), dead('b')], limitsOf()))).toEqual(['assign 0 a>a expired']);
  const full = [...pending, ...held({ b: [3, 4] })];
  expect(short(assign(full, nodes('a', 'b', 'c'), limitsOf()))).toEqual(['assign 0 a>a expired']);
});

test('with attributes: room is made for what only some nodes may have, by a chain, and the figures are its ends', () => {
  // x may have all, y not the mail, z neither mail nor zone.
  const mail = { handler: 'mail' };
  const zone = { attributes: { zone: '1' } };
  const now = [
    ...['0', '1', '2', '3'].map((id) => partition(id, 'x', mail)),
    partition('4', 'y', zone),
    partition('5', 'y', zone),
    partition('6', 'y'),
  ];
  const among = [node('w', { handlers: ['mail'] }), node('x', { handlers: ['mail'] }), node('y', zone), node('z', {})];
  const { partitions, rounds } = settle(now, among, limitsOf());
  expect([...countsOf(partitions, among)].sort()).toEqual([1, 2, 2, 2]);
  expect(moved(now, partitions)).toBe(3);
  expect(rounds.length).toBeLessThanOrEqual(4);
  const chain = [
    partition('0', 'x', mail),
    partition('1', 'x', mail),
    partition('2', 'y', { handler: 'mail' }),
    partition('3', 'y'),
    partition('4', null, mail),
  ];
  const both = [node('x', { handlers: ['mail'] }), node('y', { handlers: ['mail'] }), node('z')];
  const after = settle(chain, both, limitsOf());
  expect([...countsOf(after.partitions, both)].sort()).toEqual([1, 2, 2]);
});

test('explanations give the figures', () => {
  const [one] = assign(held({ a: [0, 1, 2, 3] }), nodes('a', 'b'), limitsOf());
  expect(one!.explanation).toBe('3 is to go from a to b: one node has 4 partitions, b has 0 partitions');
  const [free] = assign(held({ a: [0], '': [1] }), nodes('a', 'b'), limitsOf());
  expect(free!.explanation).toBe('1 goes to b: no node holds it; b then has 1 partition');
});

test('an id that is there twice is refused, by name', () => {
  expect(() => assign(held({ a: [0], b: [0] }), nodes('a', 'b'), limitsOf())).toThrow(
    'partitions: expected each id once, got "0" twice',
  );
  expect(() => assign([], nodes('a', 'a'), limitsOf())).toThrow('nodes: expected each id once, got "a" twice');
});

test('ids are compared by code point, as Postgres does', () => {
  const ids = ['z', 'a', '', 'aa', '\u{1F600}', '\uFFFD', 'é', 'a\u{1F600}', 'a\uFFFD', '\u{103FF}', '\u{103FE}'];
  const byBytes = [...ids].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  expect([...ids].sort(byCodePoint)).toEqual(byBytes);
});
