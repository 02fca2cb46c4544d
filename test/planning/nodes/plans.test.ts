import { createHash } from 'node:crypto';
import { assign } from '../../../workflows/planning/nodes/assign';
import type { Limits, NodeFacts, PartitionFacts } from '../../../workflows/planning/nodes/types';
import { LONG, limitsOf, node, partition } from './world';

/**
 * Plans are what they were. While a release is rolled out, the balancer runs in one process of the
 * old code and then in one of the new: where their plans differ, partitions move to and fro. A
 * change that is meant to plan otherwise changes these texts.
 */

/** The same numbers from the same seed, whatever library generates others. */
class Chance {
  constructor(private seed: number) {}
  below(n: number): number {
    this.seed = (Math.imul(this.seed, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((this.seed / 2 ** 32) * n);
  }
  of<T>(...all: T[]): T {
    return all[this.below(all.length)]!;
  }
}

interface Kind {
  by: Limits['by'];
  /** Handlers that not every node has. */
  handlers: readonly string[];
  /** Nodes that end, restart and are drained, and moves that have begun. */
  isRough: boolean;
}

const nodeOf = (chance: Chance, no: number, { handlers, isRough }: Kind): NodeFacts =>
  node(`n${no}`, {
    handlers: handlers.filter(() => chance.below(3) > 0),
    ...(isRough && no > 0
      ? {
          alive: chance.below(5) > 0,
          draining: chance.below(8) === 0,
          isKept: chance.below(2) === 0,
          successorOf: chance.of(null, null, 'name'),
          startedMs: chance.below(3),
        }
      : {}),
  });

const partitionOf = (chance: Chance, no: number, among: readonly NodeFacts[], kind: Kind): PartitionFacts => {
  const someNode = (): string => chance.of(...among.slice(0, 1 + chance.below(among.length))).id;
  return partition(`p${String(no).padStart(2, '0')}`, chance.below(5) === 0 ? null : someNode(), {
    handler: kind.handlers.length === 0 || chance.below(4) === 0 ? null : chance.of(...kind.handlers),
    heldMs: chance.of(0, 50, LONG, LONG + no),
    weight: chance.of(0, 1, 1, 2, 5, 8, 13, 0.1, 40, -3, NaN),
    ...(kind.isRough
      ? {
          expired: chance.below(6) === 0,
          revokedFor: chance.below(8) === 0 ? someNode() : null,
          pinned: chance.below(10) === 0 ? someNode() : null,
        }
      : {}),
  });
};

/** Returns a digest of the plans for some worlds, and how many moves they have. */
const plansOf = (kind: Kind): [moves: number, digest: string] => {
  const hash = createHash('sha256');
  let moves = 0;
  for (let seed = 1; seed <= 150; seed++) {
    const chance = new Chance(seed);
    const among = Array.from({ length: 2 + chance.below(7) }, (_, no) => nodeOf(chance, no, kind));
    const partitions = Array.from({ length: chance.below(40) }, (_, no) => partitionOf(chance, no, among, kind));
    const limits = { by: kind.by, movesPerRound: chance.of(2, Infinity), minimumHoldMs: chance.of(0, 100) };
    const plan = assign(partitions, among, limitsOf(limits));
    moves += plan.length;
    hash.update(JSON.stringify(plan));
  }
  return [moves, hash.digest('hex').slice(0, 16)];
};

test.each<[string, Kind, [number, string]]>([
  ['by count', { by: 'count', handlers: [], isRough: false }, [744, '2385c8370c367766']],
  [
    'by count, with handlers',
    { by: 'count', handlers: ['mail', 'push', 'sms'], isRough: false },
    [628, 'e9c6cf616952db7b'],
  ],
  ['by count, in rough times', { by: 'count', handlers: ['mail', 'sms'], isRough: true }, [930, 'a8c44f58ef84364d']],
  ['by weight', { by: 'weight', handlers: [], isRough: false }, [714, '79ed0c52d9427718']],
  [
    'by weight, with handlers',
    { by: 'weight', handlers: ['mail', 'push', 'sms'], isRough: false },
    [632, '62cc816e42440430'],
  ],
  ['by weight, in rough times', { by: 'weight', handlers: ['mail', 'sms'], isRough: true }, [933, '236334a2efbe46a7']],
])('%s', (_, kind, expected) => {
  expect(plansOf(kind)).toEqual(expected);
});
