import type { Limits } from './types';

/** Loads of nodes may differ by this part of their mean. */
const DEAD_BAND = 0.1;

/** Returns the planner's limits as an operator's settings give them. */
export const limitsOf = ({
  movesPerRound,
  minimumHoldMs,
  by,
}: {
  movesPerRound: number;
  minimumHoldMs: number;
  by: 'count' | 'load';
}): Limits => ({
  movesPerRound,
  minimumHoldMs,
  deadBand: DEAD_BAND,
  // Nodes that keep partitions for a restart say so themselves: any other missing node is dead.
  restartGraceMs: 1,
  by: by === 'count' ? 'count' : 'weight',
});
