import type { Accounting, StrategyName } from './types';

/** Decides which of the lanes with a batch that may go is next. There is one rule per strategy. */
export interface Strategy {
  /** Returns the most grants per lane in one plan. */
  grantsPerLane(depth: number): number;
  /** Compares two turns. Below 0: `one` goes before `other`. Never 0 for two different lanes. */
  compare(one: Turn, other: Turn): number;
  /**
   * Returns the lane's accounting when its turn begins, at the queuer's place `round` or later.
   * `served` is then the place of this turn.
   */
  enter(lane: Weighted & Accounting, round: number): Accounting;
  /** Returns the lane's accounting after a batch of this weight was granted to it in that turn. */
  charge(lane: Weighted & Accounting, batchWeight: number): Accounting;
}
interface Weighted {
  weight: number;
}
/** A lane's next batch, as a strategy sees it. `due` is the place at which the lane is due. */
export interface Turn {
  laneId: number;
  due: number;
  /** Place in the one queue that `single` serves. */
  sequence: number;
  part: number;
}

/**
 * The number of places per round. A lane that is served takes the queuer's place, and is due one
 * round later, behind all lanes that wait now. With more ready lanes than places the order of
 * service stays right, and only weights lose accuracy. The number is small enough for places to
 * stay exact whole numbers. A new lane is also due one round later (`registerLanes`), as if it had
 * just been served: so its first batch waits for at most one turn of each other lane, and an
 * endless stream of new services starves no lane.
 */
export const ROUND = 16_384;

/**
 * Orders by due place, so that the lane served least recently comes first, and of two new lanes the
 * older one.
 */
const byPlace = (one: Turn, other: Turn): number => one.due - other.due || one.laneId - other.laneId;

const bySequence = (one: Turn, other: Turn): number =>
  one.sequence - other.sequence || one.part - other.part || one.laneId - other.laneId;

/**
 * Serves all batches in the order in which they were submitted, so that the service that submits
 * most is served most. Does not change the places of lanes.
 */
const single: Strategy = {
  grantsPerLane: () => Infinity,
  compare: bySequence,
  enter: ({ deficit, served }) => ({ deficit, served }),
  charge: ({ deficit, served }) => ({ deficit, served }),
};

/** Serves the oldest batch of each service, whatever it weighs, and then begins again. */
const oneRound: Strategy = {
  grantsPerLane: () => Infinity,
  compare: byPlace,
  enter: ({ served }, round) => ({ deficit: 0, served: Math.max(served, round + 1) }),
  charge: ({ served }) => ({ deficit: 0, served: served + ROUND }),
};

/**
 * Grants up to `depth` rounds at a time. Later rounds are not stored, so a lane that becomes ready
 * later is due before the second round of the others.
 */
const multiRound: Strategy = { ...oneRound, grantsPerLane: (depth) => depth };

/**
 * Serves by weighted deficit round robin. In each round a lane gets its weight as credit, and sends
 * batches while credit is left. The batch that brings the credit to zero or below ends the lane's
 * turn, and the lane pays what it overdrew by sitting out rounds. Those rounds are not played one
 * by one: the lane's next place is computed at once, so that heavy batches cost no empty turns, and
 * the lane to serve is always the one that is due first. Credit is not saved up: a lane that was
 * idle or blocked for a round starts again with the credit of one round.
 */
const perService: Strategy = {
  grantsPerLane: () => Infinity,
  compare: byPlace,
  enter: ({ weight, deficit, served }, round) => {
    if (round - served >= ROUND) return { served: round + 1, deficit: weight };
    // If the weight was lowered since, the lane keeps no more credit than that of one round, and no
    // debt that one round does not pay.
    return deficit > 0
      ? { served, deficit: Math.min(deficit, weight) }
      : { served: Math.max(served, round + 1), deficit: Math.max(1, deficit + weight) };
  },
  charge: ({ weight, deficit, served }, batchWeight) => {
    const left = deficit - batchWeight;
    if (left > 0) return { served, deficit: left };
    const sitsOut = Math.floor(-left / weight);
    return { served: served + ROUND * (1 + sitsOut), deficit: left + sitsOut * weight };
  },
};

const strategies: Readonly<Record<StrategyName, Strategy>> = {
  single,
  'per-service': perService,
  'one-round': oneRound,
  'multi-round': multiRound,
};
export const strategyOf = (name: StrategyName): Strategy => strategies[name];
