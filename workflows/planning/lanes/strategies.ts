import type { Accounting, StrategyName } from './types';

/** Decides which lane is next among lanes that have a batch which may go. One per strategy. */
export interface Strategy {
  readonly name: StrategyName;
  /** Most grants one lane gets in one plan. */
  grantsPerLane(depth: number): number;
  /** Below 0: `one` goes before `other`. Never 0 for two lanes. */
  compare(one: Turn, other: Turn): number;
  /**
   * Returns the lane's accounting when it is served at the queuer's place `round` or later:
   * `served` is then its own place.
   */
  enter(lane: Weighted & Accounting, round: number): Accounting;
  /** Returns the accounting after a batch of this weight was granted to a lane that entered. */
  charge(lane: Weighted & Accounting, batchWeight: number): Accounting;
}
interface Weighted {
  weight: number;
}
/** A lane's next batch, as a strategy sees it. `due`: the place at which the lane is due. */
export interface Turn {
  laneId: number;
  due: number;
  /** Sequence in the queue that `single` serves. */
  sequence: number;
  part: number;
}

/**
 * Places in a round: a lane that is served takes the queuer's place and is due one round later,
 * behind all that wait now. With more ready lanes than this the order of service stays, and only
 * weights lose accuracy. Small enough for places to stay exact whole numbers. A new lane enters one
 * round later, too (`registerLanes` of the store), as if it had been served now: so a late batch
 * waits for at most one turn of each other lane, and an endless row of new services starves no
 * lane.
 */
export const ROUND = 16_384;

/** Orders by due place, so the lane served least recently is first; of two new lanes the older. */
const byPlace = (one: Turn, other: Turn): number => one.due - other.due || one.laneId - other.laneId;

const bySequence = (one: Turn, other: Turn): number =>
  one.sequence - other.sequence || one.part - other.part || one.laneId - other.laneId;

/**
 * All in the order in which they were submitted: a service that submits most is served most. Leaves
 * no trace in the lanes' places.
 */
const single: Strategy = {
  name: 'single',
  grantsPerLane: () => Infinity,
  compare: bySequence,
  enter: ({ deficit, served }) => ({ deficit, served }),
  charge: ({ deficit, served }) => ({ deficit, served }),
};

/** The oldest batch of each service, whatever it weighs, and again when all have had theirs. */
const oneRound: Strategy = {
  name: 'one-round',
  grantsPerLane: () => Infinity,
  compare: byPlace,
  enter: ({ served }, round) => ({ deficit: 0, served: Math.max(served, round + 1) }),
  charge: ({ served }) => ({ deficit: 0, served: served + ROUND }),
};

/**
 * `depth` rounds at a time, none of them stored: a lane that comes later is due before the second
 * round of the others.
 */
const multiRound: Strategy = { ...oneRound, name: 'multi-round', grantsPerLane: (depth) => depth };

/**
 * Weighted deficit round robin. In each round a lane gets its weight as credit and sends while some
 * is left; the batch that takes it to zero or below ends its turn, and the lane pays what it
 * overdrew by sitting out rounds. Those are not played one by one: the lane's next place is
 * computed at once, so that heavy batches cost no empty turns and the lane to serve is always the
 * one due first. Credit is not saved up: a lane that was idle or blocked for a round starts afresh,
 * with one round's credit.
 */
const perService: Strategy = {
  name: 'per-service',
  grantsPerLane: () => Infinity,
  compare: byPlace,
  enter: ({ weight, deficit, served }, round) => {
    if (round - served >= ROUND) return { served: round + 1, deficit: weight };
    // A weight lowered since leaves neither more credit than a round's nor a debt that a round does
    // not pay.
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
