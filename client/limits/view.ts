import type { LimitName, LimitValue, LimitValues, Overrides } from '../../workflows/planning/limits/limits';
import { LIMIT_NAMES, TARGET_LIMIT_NAMES } from '../../workflows/planning/limits/limits';
import { inForce } from '../../workflows/planning/limits/overrides';
import type { LimitSetting, LimitsView, LimitView } from '../../workflows/contracts/limits';

/** Returns the limits of a handler or a target as they are shown. */
export const toLimitsView = (
  of: { handler: string; target: string | null },
  defined: LimitValues,
  overrides: Overrides,
): LimitsView => {
  const values = inForce(defined, overrides);
  const names: readonly LimitName[] = of.target === null ? LIMIT_NAMES : TARGET_LIMIT_NAMES;
  return { ...of, limits: names.map((limit) => viewOf(limit, values[limit], defined[limit], overrides)) };
};

const viewOf = (limit: LimitName, value: LimitValue, defined: LimitValue, overrides: Overrides): LimitView => {
  const override = overrides[limit];
  return {
    limit,
    inForce: shown(value),
    defined: shown(defined),
    set: override === undefined ? null : { by: override.by, at: override.at, until: override.until },
  };
};

/** Returns the limits that are set, as they are shown. */
export const setLimitsOf = (overrides: Overrides | null): LimitSetting[] =>
  LIMIT_NAMES.flatMap((limit) => {
    const override = overrides?.[limit];
    return override === undefined ? [] : [{ limit, ...override, value: shown(override.value) }];
  });

/** Returns a value as JSON has it: rates are no longer read-only. */
export const shown = (value: LimitValue): LimitView['inForce'] =>
  typeof value === 'object' && value !== null ? value.map((rate) => ({ ...rate })) : value;
