import type { LimitSetting } from '../../views';
import { describeSetting, describeValue, wordOf } from '../../../workflows/planning/limits/describe';

/** Returns the limits that are set in one line: `calls at once 3, set by ana`. */
export const limitsText = (set: readonly LimitSetting[]): string =>
  set.map((one) => `${wordOf(one.limit)} ${describeValue(one.value)}, ${describeSetting(one)}`).join('; ');
