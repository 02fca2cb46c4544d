import { performance } from 'node:perf_hooks';
import { assign } from '../../../workflows/planning/nodes/assign';
import type { Limits, Move, NodeFacts, PartitionFacts } from '../../../workflows/planning/nodes/types';
import { fewestMoves } from '../../planning/nodes/bruteForce';
import {
  applied,
  countsOf,
  expired,
  limitsOf,
  moved,
  node,
  numbered,
  partition,
  released,
  settle,
  spread,
} from '../../planning/nodes/world';

/** What `bench:nodes` measures: a round of the assignor, and what joins and leaves move. */

export interface PlanMeasure {
  measure: 'plan';
  by: Limits['by'];
  partitions: number;
  nodes: number;
  /**
   * Milliseconds of one round: nobody holds anything; all is settled; a node joined; a node's
   * leases ended; half of the nodes joined.
   */
  firstMs: number;
  settledMs: number;
  joinMs: number;
  leaveMs: number;
  doubleMs: number;
}

export interface MovesMeasure {
  measure: 'moves';
  partitions: number;
  nodes: number;
  event: 'join' | 'leave';
  times: number;
  moves: number;
  /** Held partitions that had to go, counted without the planner. */
  fewest: number;
  ratio: number;
  /** Most rounds that one of them took. */
  rounds: number;
}

/** Loads of 1 to 10.6, scattered. */
const weightOf = (i: number): number => 1 + ((i * 7_919) % 97) / 10;

const timed = <T>(work: () => T): { ms: number; value: T } => {
  const start = performance.now();
  const value = work();
  return { ms: Math.round((performance.now() - start) * 10) / 10, value };
};

const nodesUpTo = (count: number): NodeFacts[] => numbered(0, count).map((id) => node(`n${id}`));

/** The quickest of some rounds: what a round costs without what else the machine does. */
const quickest = (
  times: number,
  partitions: readonly PartitionFacts[],
  among: readonly NodeFacts[],
  limits: Limits,
): { ms: number; moves: Move[] } => {
  const all = Array.from({ length: times }, () => timed(() => assign(partitions, among, limits)));
  return { ms: Math.min(...all.map(({ ms }) => ms)), moves: all[0]!.value };
};

export const planOf = (partitions: number, nodes: number, by: Limits['by'], times = 3): PlanMeasure => {
  const limits = limitsOf({ by });
  const half = nodesUpTo(Math.ceil(nodes / 2));
  const among = nodesUpTo(nodes);
  const all = numbered(0, partitions).map((id, i) => partition(id, null, { weight: weightOf(i) }));
  const first = quickest(times, all, among, limits);
  const settled = applied(all, first.moves);
  const gone = among.at(-1)!.id;
  const onHalf = applied(all, assign(all, half, limits));
  return {
    measure: 'plan',
    by,
    partitions,
    nodes,
    firstMs: first.ms,
    settledMs: quickest(times, settled, among, limits).ms,
    joinMs: quickest(times, settled, [...among, node('x')], limits).ms,
    leaveMs: quickest(times, expired(settled, gone), among.slice(0, -1), limits).ms,
    doubleMs: quickest(times, onHalf, among, limits).ms,
  };
};

/** Nodes join, or leave, one after the other. */
export const movesOf = (
  partitions: number,
  nodes: number,
  event: MovesMeasure['event'],
  times: number,
): MovesMeasure => {
  const limits = limitsOf();
  let among = nodesUpTo(nodes);
  let now = settle(
    numbered(0, partitions).map((id) => partition(id, null)),
    among,
    limits,
  ).partitions;
  let [moves, fewest, rounds] = [0, 0, 0];
  for (let i = 0; i < times; i++) {
    const [gone] = event === 'leave' ? among.slice((i * 13) % among.length) : [];
    among = gone === undefined ? [...among, node(`x${numbered(i, i + 1)[0]}`)] : among.filter((one) => one !== gone);
    const before = gone === undefined ? now : expired(now, gone.id);
    fewest += fewestMoves(countsOf(before, among), before.filter((facts) => facts.expired).length);
    const settled = settle(before, among, limits);
    if (spread(countsOf(settled.partitions, among)) > 1) throw new Error(`${event} ${i}: expected counts within 1`);
    moves += moved(before, settled.partitions);
    rounds = Math.max(rounds, settled.rounds.length);
    now = released(settled.partitions);
  }
  return {
    measure: 'moves',
    partitions,
    nodes,
    event,
    times,
    moves,
    fewest,
    ratio: fewest === moves ? 1 : moves / fewest,
    rounds,
  };
};
