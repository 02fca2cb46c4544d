import { settings } from '../../handlers/checks';
import { sharedLimitShape } from '../../handlers/settings';
import type { SharedLimit } from '../../handlers/types';
import type { SharedChange } from '../../workflows/planning/limits/sharing';
import { InvalidArgumentError } from '../errors';
import { refuseProblems, refuseRatesBeyond, withoutUndefined } from './check';

/**
 * What to set of a limit that handlers share, by the names of its definition. Null is "as defined",
 * and what is left out stays as it is.
 */
export interface SharedLimitSettings {
  /** All of its rates; [] for none. */
  rate?: SharedLimit['rate'] | null;
  /** Most calls at once of all handlers that share it, 1 to 10,000. */
  concurrency?: number | null;
}

const schema = settings(sharedLimitShape);

/** Returns the change that was asked for. Throws a `MusterError` with code INVALID_ARGUMENT. */
export const checkSharedLimit = (given: SharedLimitSettings): SharedChange => {
  refuseProblems(schema, given);
  const { rate, concurrency } = given;
  const rates = rate == null ? rate : [rate].flat().map((one) => ({ ...one, scope: 'shared' as const }));
  const change = withoutUndefined<SharedChange>({ rate: rates, concurrency });
  if (Object.keys(change).length === 0)
    throw new InvalidArgumentError('limits', 'at least one of rate, concurrency', given);
  refuseRatesBeyond(rates ?? []);
  return change;
};
