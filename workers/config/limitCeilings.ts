import { z } from 'zod';
import { problemsOf, settings } from '../../handlers/checks';
import { limitShape } from '../../handlers/settings';
import type { Rate } from '../../handlers/types';
import type { CeilingsByHandler, LimitCeilings } from '../../workflows/planning/limits/ceilings';

/** `api.maxLimits` of the config file: the most that callers may set, by handler or `*`. */
export interface MaxLimits {
  rate?: Rate | Rate[] | null | undefined;
  concurrency?: { perTarget?: number | null | undefined; perHandler?: number | null | undefined } | undefined;
  maxWeightInFlight?: { perTarget?: number | null | undefined; perHandler?: number | null | undefined } | undefined;
}

const limits = settings(limitShape);
const EXPECTED = 'limits by handler or "*", such as {"orders": {"concurrency": {"perHandler": 8}}}';

export const maxLimits = z
  .custom<Record<string, MaxLimits>>((value) => typeof value === 'object' && value !== null && !Array.isArray(value), {
    error: `expected ${EXPECTED}`,
  })
  .superRefine((value, context) => {
    for (const [handler, given] of Object.entries(value))
      for (const { path, message } of problemsOf(limits, given))
        context.addIssue({
          code: 'custom',
          message,
          path: [handler, ...path.split('.').filter((part) => part !== '')],
        });
  })
  .meta({ expected: EXPECTED });

/** Returns the ceilings as decisions take them. */
export const ceilingsByHandler = (given: Readonly<Record<string, MaxLimits>> = {}): CeilingsByHandler =>
  Object.fromEntries(Object.entries(given).map(([handler, one]) => [handler, ceilingsFrom(one)]));

const ceilingsFrom = ({ rate, concurrency = {}, maxWeightInFlight = {} }: MaxLimits): LimitCeilings => ({
  rate: (rate == null ? [] : Array.isArray(rate) ? rate : [rate]).map((one) => ({
    ...one,
    scope: one.scope ?? 'handler',
  })),
  'concurrency.perTarget': concurrency.perTarget ?? null,
  'concurrency.perHandler': concurrency.perHandler ?? null,
  'maxWeightInFlight.perTarget': maxWeightInFlight.perTarget ?? null,
  'maxWeightInFlight.perHandler': maxWeightInFlight.perHandler ?? null,
});
