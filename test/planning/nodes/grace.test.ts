import { assign } from '../../../workflows/planning/nodes/assign';
import { dead, expired, held, limitsOf, node, nodes, partition, released, short } from './world';

describe('restart grace', () => {
  const limits = limitsOf();
  const now = expired(held({ a: [0, 1], b: [2, 3], c: [4] }), 'a');
  const others = nodes('b', 'c');

  test('a node for which it is kept keeps what it had; of any other that is missing all is given away', () => {
    expect(assign(now, [dead('a', { isKept: true }), ...others], limits)).toEqual([]);
    expect(assign(now, [dead('a'), ...others], limits).map(({ to }) => to)).toEqual(['c', 'b']);
  });

  test('a draining node has no grace, and what it cannot have any more does not wait for it', () => {
    const gone = dead('a', { isKept: true });
    expect(assign(now, [{ ...gone, draining: true }, ...others], limits)).toHaveLength(2);
    const mail = now.map((facts) => (facts.id === '0' ? { ...facts, handler: 'mail' } : facts));
    const able = others.map((one) => ({ ...one, handlers: ['mail'] }));
    expect(short(assign(mail, [gone, ...able], limits))).toEqual(['assign 0 a>c expired']);
  });

  test('started again under its name it takes its own back, once their leases ended', () => {
    const a = dead('a', { successorOf: 'node-a', isKept: true });
    const again = node('a2', { successorOf: 'node-a', startedMs: 5 });
    expect(short(assign(now, [a, again, ...others], limits))).toEqual([
      'assign 0 a>a2 expired',
      'assign 1 a>a2 expired',
    ]);
    const held5 = held({ a: [0, 1], b: [2, 3], c: [4] });
    expect(assign(held5, [a, again, ...others], limits)).toEqual([]);
    // The old process is not known to be dead yet.
    expect(assign(held5, [node('a', { successorOf: 'node-a' }), again, ...others], limits)).toEqual([]);
    const drained = node('a', { successorOf: 'node-a', draining: true });
    expect(short(assign(held5, [drained, again, ...others], limits))).toEqual([
      'revoke 0 a>a2 drain',
      'revoke 1 a>a2 drain',
    ]);
  });

  test('of two of one name the later one runs the node; of two whose start is not known, the later id', () => {
    const runs = (a: number | undefined, z: number | undefined): string | null => {
      const among = [node('a', { successorOf: 'n', startedMs: a }), node('z', { successorOf: 'n', startedMs: z })];
      return assign([partition('0', null)], among, limits)[0]!.to;
    };
    expect([runs(1, undefined), runs(undefined, 0), runs(undefined, undefined), runs(2, 1)]).toEqual([
      ...['a', 'z', 'z', 'a'],
    ]);
  });

  test('what was pinned elsewhere, or revoked for somebody, does not wait for it', () => {
    const gone = dead('a', { isKept: true });
    const one = (facts: object) => [partition('0', 'a', { expired: true, ...facts })];
    expect(assign(one({}), [gone, node('b')], limits)).toEqual([]);
    for (const facts of [{ pinned: 'b' }, { revokedFor: 'b' }])
      expect(short(assign(one(facts), [gone, node('b')], limits))).toEqual(['assign 0 a>b expired']);
  });

  test('a revoke that was for the old process is for its successor', () => {
    const pending = [partition('0', 'b', { revokedFor: 'a' }), partition('1', 'b')];
    const among = [dead('a', { successorOf: 'n' }), node('a2', { successorOf: 'n' }), node('b')];
    expect(short(assign(released(pending), among, limits))).toEqual(['assign 0 b>a2 expired']);
  });
});
