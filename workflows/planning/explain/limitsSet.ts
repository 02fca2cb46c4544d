import { describeSetting, describeValue, wordOfShared } from '../limits/describe';
import type { LimitName, Override } from '../limits/limits';
import { SHARED_LIMIT_NAMES } from '../limits/sharing';
import type { ExplainFacts } from './facts';

type Scopes = Pick<ExplainFacts, 'handler' | 'target'>;

/** Returns what was set in place of the definition: of the target, or else of its handler. */
const settingOf = <N extends LimitName>({ handler, target }: Scopes, name: N): Override<N> | undefined =>
  target.limitsSet?.[name] ?? handler.limitsSet?.[name];

/** Says in brackets who set a limit for which a task waits; nothing if it is as defined. */
export const bySetting = (facts: Scopes, name: LimitName): string => {
  const setting = settingOf(facts, name);
  return setting === undefined ? '' : ` (${describeSetting(setting)})`;
};

/** The same of a rate, in a sentence with what it is. */
export const rateSetting = (facts: Scopes): string => {
  const setting = settingOf(facts, 'rate');
  return setting === undefined ? '' : ` The rate is ${describeValue(setting.value)}, ${describeSetting(setting)}.`;
};

/** Says of which limit that its handler shares a task waits for. */
export const sharedText = ({ handler }: Pick<ExplainFacts, 'handler'>): string =>
  `limit "${handler.sharesLimit}", which handler "${handler.name}" shares${sharedSettings(handler)}, allows it no call`;

/** Says in brackets what was set of the shared limit, and by whom; nothing if it is as defined. */
const sharedSettings = ({ sharedLimitSet }: ExplainFacts['handler']): string => {
  const settings = SHARED_LIMIT_NAMES.flatMap((limit) => {
    const setting = sharedLimitSet?.[limit];
    return setting === undefined
      ? []
      : [`${wordOfShared(limit)} ${describeValue(setting.value)}, ${describeSetting(setting)}`];
  });
  return settings.length === 0 ? '' : ` (${settings.join('; ')})`;
};
