import type { LimitSetting, SharedLimitView } from '../../../workflows/contracts/limits';
import { describeValue, wordOf, wordOfShared } from '../../../workflows/planning/limits/describe';
import { useLive } from '../api/live';
import type { Action } from '../model/actions';
import { limitActions, removeLimit, removeSharedValue, sharedLimitActions } from '../model/limitActions';
import { apiPath } from '../model/place';
import { Facts, Time } from './basic';
import { Actions } from './buttons';

interface Props {
  handler: string;
  /** Null: of the handler. */
  target: string | null;
  limits: readonly LimitSetting[];
  then: () => void;
}

/** Says which limits were set while workers run, by whom and until when; sets and removes them. */
export const LimitsSet = ({ handler, target, limits, then }: Props) => (
  <>
    {limits.map((one) => (
      <Set
        key={one.limit}
        text={`${wordOf(one.limit)} ${describeValue(one.value)}`}
        set={one}
        remove={removeLimit(handler, target, one.limit)}
        then={then}
      />
    ))}
    <Actions actions={limitActions(handler, target, limits.length > 0)} then={then} />
  </>
);

interface SetProps {
  text: string;
  set: Pick<LimitSetting, 'by' | 'at' | 'until'>;
  remove: Action;
  then: () => void;
}
const Set = ({ text, set: { by, at, until }, remove, then }: SetProps) => (
  <>
    <p class="sentence">
      Set by {by} <Time at={at} />: {text}
      {until === null ? (
        ', until it is removed.'
      ) : (
        <>
          , until <Time at={until} />.
        </>
      )}
    </p>
    <Actions actions={[remove]} then={then} />
  </>
);

/** A limit that a handler shares with others. */
export const SharedLimit = ({ name }: { name: string }) => {
  const { data, again } = useLive<SharedLimitView>(apiPath(['v1', 'shared-limits', name]));
  if (data === null) return null;
  const { handlers, limits } = data;
  return (
    <>
      <h2>Shared limit {name}</h2>
      {limits.map(
        ({ limit, inForce, set }) =>
          set !== null && (
            <Set
              key={limit}
              text={`${wordOfShared(limit)} ${describeValue(inForce)}`}
              set={set}
              remove={removeSharedValue(name, limit)}
              then={again}
            />
          ),
      )}
      <Actions
        actions={sharedLimitActions(
          name,
          limits.some(({ set }) => set !== null),
        )}
        then={again}
      />
      <Facts
        facts={[
          ['shared by', handlers.join(', ')],
          ...limits.map(({ limit, inForce }) => [wordOfShared(limit), describeValue(inForce)] as const),
        ]}
      />
    </>
  );
};
