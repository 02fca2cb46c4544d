import type { Struck } from './harness';
import type { Point } from './points';

/** Least kills of each point in a run that has that many for all. */
const LEAST_A_POINT = 5;

/** Returns how often each point was struck. */
export const countByPoint = (struck: readonly Pick<Struck, 'kill'>[]): Record<string, number> => {
  const counts: Record<string, number> = {};
  for (const { kill } of struck) counts[kill.point] = (counts[kill.point] ?? 0) + 1;
  return counts;
};

/** Says whether each point was struck as often as a run with so many kills must strike it. */
export const haveShares = (killsOf: Record<string, number>, kills: number, points: readonly Point[]): boolean =>
  kills < points.length * LEAST_A_POINT || points.every((point) => (killsOf[point] ?? 0) >= LEAST_A_POINT);
