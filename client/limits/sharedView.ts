import type { SharedLimitFacts } from '../../postgres/limits/sharedSettings';
import type { SharedLimitView } from '../../workflows/contracts/limits';
import { inForce } from '../../workflows/planning/limits/overrides';
import type { SharedLimitName, SharedValues } from '../../workflows/planning/limits/sharing';
import { SHARED_LIMIT_NAMES } from '../../workflows/planning/limits/sharing';

type ShownValue = SharedLimitView['limits'][number]['inForce'];

/** Returns a shared limit as it is shown. */
export const toSharedLimitView = ({
  name,
  handlers,
  defined,
  overrides,
}: Pick<SharedLimitFacts, 'name' | 'handlers' | 'defined' | 'overrides'>): SharedLimitView => {
  const values = inForce(defined, overrides);
  return {
    name,
    handlers,
    limits: SHARED_LIMIT_NAMES.map((limit) => {
      const setting = overrides[limit];
      return {
        limit,
        inForce: shownShared(values[limit]),
        defined: shownShared(defined[limit]),
        set: setting === undefined ? null : { by: setting.by, at: setting.at, until: setting.until },
      };
    }),
  };
};

/** Returns a value as JSON has it: rates are no longer read-only. */
export const shownShared = (value: SharedValues[SharedLimitName]): ShownValue =>
  typeof value === 'object' && value !== null ? value.map((rate) => ({ ...rate })) : value;
