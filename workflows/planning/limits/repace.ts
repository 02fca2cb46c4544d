import type { RateLimit } from './limits';
import type { SharedRate } from './sharing';

/**
 * How the state of one rate follows a change: what is left of its wait is multiplied by `factor`,
 * and is then at most `mostMs`, the time of one unit under the new rate.
 */
export interface Repacing {
  factor: number;
  mostMs: number;
}

type Scope = (RateLimit | SharedRate)['scope'];
type Step = Pick<RateLimit, 'limit' | 'perMs' | 'unit'> & { scope: Scope };

const stepMs = ({ limit, perMs }: Step): number => perMs / limit;

/**
 * Returns how the states of the rates of one scope follow a change, in the order of the new rates.
 * The wait of a slower rate is not kept under a faster one; under a slower one the calls that were
 * planned ahead are handed back, so they need not be waited for. A rate that takes the place of one
 * with another unit begins anew.
 */
export const repacings = (before: readonly Step[], after: readonly Step[], scope: Scope): Repacing[] => {
  const old = before.filter((rate) => rate.scope === scope);
  return after
    .filter((rate) => rate.scope === scope)
    .map((rate, i) => {
      const was = old[i];
      const factor = was === undefined || was.unit !== rate.unit ? 0 : stepMs(rate) / stepMs(was);
      return { factor, mostMs: stepMs(rate) };
    });
};

/** Returns the states (Unix milliseconds of the next start) after a change. */
export const repaced = (paces: readonly number[], how: readonly Repacing[], nowMs: number): number[] =>
  how.map(({ factor, mostMs }, i) => {
    const leftMs = Math.max(0, (paces[i] ?? 0) - nowMs);
    return leftMs === 0 ? 0 : nowMs + Math.min(leftMs * factor, mostMs);
  });
