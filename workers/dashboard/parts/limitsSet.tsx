import type { LimitSetting } from '../../../workflows/contracts/limits';
import { describeValue, wordOf } from '../../../workflows/planning/limits/describe';
import { Time } from './basic';

/** Says which limits were set while workers run, by whom and until when. */
export const LimitsSet = ({ limits }: { limits: readonly LimitSetting[] }) => (
  <>
    {limits.map(({ limit, value, by, at, until }) => (
      <p key={limit} class="sentence">
        Set by {by} <Time at={at} />: {wordOf(limit)} {describeValue(value)}
        {until === null ? (
          ', until it is removed.'
        ) : (
          <>
            , until <Time at={until} />.
          </>
        )}
      </p>
    ))}
  </>
);
