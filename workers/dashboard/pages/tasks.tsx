import { useState } from 'preact/hooks';
import type { TaskPage, TaskSummary } from '../../../workflows/contracts/task';
import { TIME_ORDERS } from '../../../workflows/planning/pages';
import type { TaskState } from '../../../workflows/planning/states';
import { TASK_STATES } from '../../../workflows/planning/states';
import { useLive } from '../api/live';
import { cancelTasks, isRedriven, redrive, resolveTasks, VERDICTS } from '../model/actions';
import type { Action, VerdictName } from '../model/actions';
import { actionsOnAll } from '../model/bulkActions';
import { counted } from '../model/format';
import type { Place } from '../model/place';
import { apiPath, hrefOf } from '../model/place';
import { Empty, Shown, State, Table, Time, Title } from '../parts/basic';
import { Actions } from '../parts/buttons';
import { ANY, ERROR_FIELD, Filters, TARGET_FIELD } from '../parts/filters';
import { Pager } from '../parts/pager';

const STATES = Object.keys(TASK_STATES) as TaskState[];
const CHOICES = STATES.map((state) => [state, state === 'created' ? 'created (waiting)' : state] as const);
const PER_PAGE = 100;
const ORDERS = ['', ...TIME_ORDERS].map((one) => [one, one === '' ? 'as they will be sent' : `${one} first`] as const);
/** Null: any state. Tasks with a tag are listed so, too. */
const stateIn = ({ query: { state, tag } }: Place): TaskState | null =>
  STATES.find((one) => one === state) ?? (tag === undefined ? 'created' : null);

/** The tasks of a handler in one state, or with a tag; filters and page are in the address. */
export const Tasks = ({ place }: { place: Place }) => {
  const handler = place.path[1]!;
  const { tag, target, error, after } = place.query;
  const state = stateIn(place);
  const isQueue = state === 'created' && tag === undefined;
  const order = isQueue ? place.query['order'] : undefined;
  const live = useLive<TaskPage>(
    apiPath(['v1', 'handlers', handler, 'tasks'], {
      state: state ?? undefined,
      tag,
      order,
      target,
      error,
      after,
      limit: PER_PAGE,
    }),
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
      <Filters
        place={place}
        fields={[
          {
            name: 'state',
            label: 'State',
            choices: tag === undefined ? CHOICES : [ANY, ...CHOICES],
            chosen: state ?? '',
          },
          ...(isQueue ? [{ name: 'order', label: 'Order', choices: ORDERS }] : []),
          { name: 'tag', label: 'Tag', maxLength: 100 },
          TARGET_FIELD,
          ERROR_FIELD,
        ]}
      />
      <Shown live={live} missing={`There is no handler ${handler}.`}>
        {({ tasks, next }) => {
          const ids = tasks.map(({ id }) => id).filter((id) => chosen.has(id));
          return (
            <>
              <Steps handler={handler} place={place} state={state} ids={ids} then={done} />
              {tasks.length === 0 ? (
                <Empty>
                  No task {state === null ? 'has this tag' : state === 'created' ? 'waits' : `is ${state}`} here
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

interface StepsProps {
  handler: string;
  place: Place;
  state: TaskState | null;
  ids: readonly string[];
  then: () => void;
}
/** What may be done with all tasks that match, or with those that are chosen. */
const Steps = ({ handler, place, state, ids, then }: StepsProps) => {
  const { tag, target, error } = place.query;
  const actions: Action[] = [
    ...(state !== null && isRedriven(state) && ids.length > 0 ? [redrive(handler, state, ids)] : []),
    ...(state === 'unknown' && ids.length > 0
      ? (Object.keys(VERDICTS) as VerdictName[]).map((as) => resolveTasks(ids, as))
      : []),
    ...((state === 'created' || state === 'batched') && ids.length > 0 ? [cancelTasks(ids)] : []),
    ...(ids.length === 0 && state !== null ? actionsOnAll(handler, { state, tag, target, error }) : []),
  ];
  return (
    <>
      {ids.length > 0 && <p class="foot">{counted(ids.length, 'task')} chosen</p>}
      <Actions actions={actions} then={then} />
    </>
  );
};

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
