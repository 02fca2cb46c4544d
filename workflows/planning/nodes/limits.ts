import type { Limits } from './types';

/** The part of the mean load by which a node may be above or below it. */
const DEAD_BAND = 0.1;

/** Converts the balancer's settings into the limits of the planner. */
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
  by: by === 'count' ? 'count' : 'weight',
});
