import { useState } from 'preact/hooks';
import type { TaskPage, TaskSummary } from '../../../workflows/contracts/task';
import { TIME_ORDERS } from '../../../workflows/planning/pages';
import type { TaskState } from '../../../workflows/planning/states';
import { TASK_STATES } from '../../../workflows/planning/states';
import { useLive } from '../api/live';
import type { HandlerPage } from '../../../workflows/contracts/dashboard';
import { cancelTasks, isRedriven, redrive, resolveTasks, VERDICTS } from '../model/actions';
import type { Action, VerdictName } from '../model/actions';
import { counted } from '../model/format';
import type { Place } from '../model/place';
import { apiPath, hrefOf } from '../model/place';
import { Empty, Shown, State, Table, Time, Title } from '../parts/basic';
import { Actions } from '../parts/buttons';
import { Pager, refine } from '../parts/pager';

const STATES = Object.keys(TASK_STATES) as TaskState[];
const PER_PAGE = 100;
/** Tasks with a tag are listed in any state, too. */
const ANY = '';

/** The tasks of a handler in one state, or with a tag; filters and page are in the address. */
export const Tasks = ({ place }: { place: Place }) => {
  const handler = place.path[1]!;
  const { tag, target, error, after } = place.query;
  const state = place.query['state'] ?? (tag === undefined ? 'created' : ANY);
  const order = state === 'created' && tag === undefined ? place.query['order'] : undefined;
  const live = useLive<TaskPage>(
    apiPath(['v1', 'handlers', handler, 'tasks'], { state, tag, order, target, error, after, limit: PER_PAGE }),
  );
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const trail = [
    ['Overview', '#/'],
    [handler, hrefOf(['handlers', handler])],
  ] as const;
  const done = (): void => {
    setChosen(new Set());
    live.again();
  };
  return (
    <>
      <Title trail={trail}>{`Tasks of ${handler}`}</Title>
      <Filters place={place} state={state} />
      <Shown live={live} missing={`There is no handler ${handler}.`}>
        {({ tasks, next }) => {
          const ids = tasks.map(({ id }) => id).filter((id) => chosen.has(id));
          return (
            <>
              <Steps handler={handler} place={place} state={state} ids={ids} then={done} />
              {tasks.length === 0 ? (
                <Empty>
                  No task {EMPTY[state] ?? `is ${state}`} here
                  {next === null ? '.' : ' on this page: go on to the next.'}
                </Empty>
              ) : (
                <List tasks={tasks} chosen={chosen} choose={setChosen} />
              )}
              <Pager place={place} next={next} />
            </>
          );
        }}
      </Shown>
    </>
  );
};

const EMPTY: Readonly<Record<string, string>> = { created: 'waits', [ANY]: 'has this tag' };

const Filters = ({ place, state }: { place: Place; state: string }) => (
  <form
    class="filters"
    key={JSON.stringify(place.query)}
    onSubmit={(event) => {
      event.preventDefault();
      const given = new FormData(event.currentTarget);
      refine(
        place,
        Object.fromEntries(
          ['state', 'tag', 'order', 'target', 'error'].map((name) => [name, String(given.get(name) ?? '')]),
        ),
      );
    }}
  >
    <label>
      State
      <select name="state" onChange={(event) => event.currentTarget.form?.requestSubmit()}>
        {place.query['tag'] !== undefined && <option value={ANY}>any</option>}
        {STATES.map((one) => (
          <option key={one} value={one} selected={one === state}>
            {one === 'created' ? 'created (waiting)' : one}
          </option>
        ))}
      </select>
    </label>
    {state === 'created' && place.query['tag'] === undefined && (
      <label>
        Order
        <select name="order" onChange={(event) => event.currentTarget.form?.requestSubmit()}>
          {['', ...TIME_ORDERS].map((one) => (
            <option key={one} value={one} selected={one === (place.query['order'] ?? '')}>
              {one === '' ? 'as they will be sent' : `${one} first`}
            </option>
          ))}
        </select>
      </label>
    )}
    <label>
      Tag
      <input name="tag" defaultValue={place.query['tag'] ?? ''} maxLength={100} />
    </label>
    <label>
      Target
      <input name="target" defaultValue={place.query['target'] ?? ''} maxLength={512} />
    </label>
    <label>
      Error contains
      <input name="error" defaultValue={place.query['error'] ?? ''} maxLength={1_000} />
    </label>
    <button type="submit">Filter</button>
  </form>
);

interface StepsProps {
  handler: string;
  place: Place;
  state: string;
  ids: readonly string[];
  then: () => void;
}
/** What may be done with all tasks of the state, or with those that are chosen. */
const Steps = ({ handler, place, state, ids, then }: StepsProps) => {
  const { tag, target, error } = place.query;
  const isAll = isRedriven(state) && tag === undefined && error === undefined;
  // How many there are is known by the handler's page; of one target, by no one number.
  const live = useLive<HandlerPage>(isAll && target === undefined ? apiPath(['dashboard', 'handlers', handler]) : null);
  const n = live.data?.status.counts[state as TaskState];
  const actions: Action[] = [
    ...(isRedriven(state) && ids.length > 0 ? [redrive(handler, state, { n: ids.length, ids })] : []),
    ...(state === 'unknown' && ids.length > 0
      ? (Object.keys(VERDICTS) as VerdictName[]).map((as) => resolveTasks(ids, as))
      : []),
    ...((state === 'created' || state === 'batched') && ids.length > 0 ? [cancelTasks(ids)] : []),
    ...(isRedriven(state) && isAll && n !== undefined && n > 0 ? [redrive(handler, state, { n })] : []),
    ...(isRedriven(state) && isAll && target !== undefined ? [redriveTarget(handler, state, target)] : []),
  ];
  return (
    <>
      {ids.length > 0 && <p class="foot">{counted(ids.length, 'task')} chosen</p>}
      <Actions actions={actions} then={then} />
    </>
  );
};

const redriveTarget = (handler: string, state: 'failed' | 'dead' | 'unknown', target: string): Action => ({
  ...redrive(handler, state, { n: 0, target }),
  question: `Redrive all ${state} tasks of target ${target} of ${handler}?`,
});

interface ListProps {
  tasks: readonly TaskSummary[];
  chosen: ReadonlySet<string>;
  choose: (change: (chosen: ReadonlySet<string>) => ReadonlySet<string>) => void;
}
const List = ({ tasks, chosen, choose }: ListProps) => {
  // Made of what is chosen then: a second click may come before the first one is shown.
  const toggle = (id: string): void =>
    choose((last) => {
      const next = new Set(last);
      if (!next.delete(id)) next.add(id);
      return next;
    });
  const isAll = tasks.every(({ id }) => chosen.has(id));
  return (
    <>
      <button type="button" class="quiet" onClick={() => choose(() => new Set(isAll ? [] : tasks.map(({ id }) => id)))}>
        {isAll ? 'Choose none' : `Choose all ${tasks.length} of this page`}
      </button>
      <Table
        caption="Tasks"
        head={['', 'Task', 'State', 'Target', 'Submitted', 'Ended', '#Attempts', 'Batch', 'Error']}
      >
        {tasks.map((task) => (
          <tr key={task.id}>
            <td>
              <input
                type="checkbox"
                aria-label={`Choose ${task.id}`}
                checked={chosen.has(task.id)}
                onChange={() => toggle(task.id)}
              />
            </td>
            <th scope="row">
              <a href={hrefOf(['tasks', task.id])}>{task.id}</a>
            </th>
            <td>
              <State word={task.state} />
            </td>
            <td>{task.target}</td>
            <td>
              <Time at={task.createdAt} />
            </td>
            <td>
              <Time at={task.finishedAt} />
            </td>
            <td class="n">{task.attempts}</td>
            <td>
              {task.batch === null ? (
                <span class="none">–</span>
              ) : (
                <a href={hrefOf(['batches', String(task.batch)])}>{task.batch}</a>
              )}
            </td>
            <td class="wide">{task.error}</td>
          </tr>
        ))}
      </Table>
    </>
  );
};
