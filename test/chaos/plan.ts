import type { Point, Variant } from './points';
import { BACKEND_POINT, DOWNSTREAM_POINT, POINTS, SERVER_POINT } from './points';
import { randomOf, shuffled } from './random';

/** One entry of the schedule of kills: the same for the same seed. */
export interface Kill {
  point: Point;
  variant: Variant;
  /** A stop: SIGSTOP, past every lease, then SIGCONT. */
  how: 'kill' | 'stop' | 'terminate' | 'restart';
  /** The victim's successor starts so much later. */
  restartAfterMs: number;
}

/** Of the kills of one point, every third is a stop. */
const STOP_EVERY = 3;

/** All points in turn, each round in its own order. */
export const planKills = (kills: number, seed: number, points: readonly Point[] = POINTS): Kill[] => {
  const random = randomOf(seed);
  const plan: Kill[] = [];
  for (let round = 0; plan.length < kills; round++)
    for (const point of shuffled(points, random)) {
      const stop = (round + points.indexOf(point)) % STOP_EVERY === 1;
      const how =
        point === BACKEND_POINT
          ? 'terminate'
          : point === SERVER_POINT
            ? 'restart'
            : stop && point !== DOWNSTREAM_POINT
              ? 'stop'
              : 'kill';
      plan.push({ point, variant: (round % 4) as Variant, how, restartAfterMs: Math.floor(random() * 1_500) });
    }
  return plan.slice(0, kills);
};

/** So many stops, by turns right before a call and in a grant, each past every lease. */
export const planStops = (stops: number): Kill[] =>
  Array.from({ length: stops }, (_, i) => ({
    point: i % 2 === 0 ? 'before-send' : 'before-grant',
    variant: 0,
    how: 'stop',
    restartAfterMs: 0,
  }));
