import type { ComponentChildren } from 'preact';
import type { BatchView } from '../../../workflows/contracts/batch';
import type { TaskView } from '../../../workflows/contracts/task';
import { useContext } from 'preact/hooks';
import { traceIdIn, traceUrlOf } from '../../../workflows/planning/traceUrl';
import { useLive } from '../api/live';
import { SessionContext } from '../api/session';
import { cancelTasks, isRedriven, redrive, resolveTasks, VERDICTS } from '../model/actions';
import type { Action, VerdictName } from '../model/actions';
import { counted, json } from '../model/format';
import type { Place } from '../model/place';
import { apiPath, hrefOf } from '../model/place';
import { Facts, Shown, State, Time, Title } from '../parts/basic';
import { Actions } from '../parts/buttons';

interface Explained {
  text: string;
}

/** One task: where it is and what it waits for, in a sentence; then all that is known. */
export const Task = ({ place }: { place: Place }) => {
  const id = place.path[1]!;
  const live = useLive<TaskView>(apiPath(['v1', 'tasks', id]));
  const explained = useLive<Explained>(apiPath(['v1', 'tasks', id, 'explain']));
  const again = (): void => {
    live.again();
    explained.again();
  };
  return (
    <>
      <Title trail={trailOf(live.data)}>{id}</Title>
      <Shown live={live} missing={`There is no task ${id}. It was never accepted, or was deleted after its retention.`}>
        {(task) => (
          <>
            {explained.data !== null && <p class="sentence">{explained.data.text}</p>}
            <Actions actions={actionsFor(task)} then={again} />
            <Known task={task} />
          </>
        )}
      </Shown>
    </>
  );
};

const trailOf = (task: TaskView | null): readonly (readonly [string, string])[] =>
  task === null
    ? [['Overview', '#/']]
    : [
        ['Overview', '#/'],
        [task.handler, hrefOf(['handlers', task.handler])],
        [task.target, hrefOf(['handlers', task.handler, 'targets', task.target])],
      ];

const actionsFor = ({ id, handler, state }: TaskView): Action[] => [
  ...(state === 'created' || state === 'batched' ? [cancelTasks([id])] : []),
  ...(state === 'unknown' ? (Object.keys(VERDICTS) as VerdictName[]).map((as) => resolveTasks([id], as)) : []),
  ...(isRedriven(state) && state !== 'unknown' ? [{ ...redrive(handler, state, [id]), label: 'Redrive' }] : []),
];

const Known = ({ task }: { task: TaskView }) => (
  <>
    <Facts
      facts={[
        ['state', <State word={task.state} />],
        ['attempts', task.attempts],
        ['priority', task.priority],
        ['batch', task.batch === null ? 'none' : <a href={hrefOf(['batches', String(task.batch)])}>{task.batch}</a>],
        ...(task.expiresAt === undefined ? [] : [['expires', <Time at={task.expiresAt} />] as const]),
        ...(task.tags === undefined ? [] : [['tags', <Tags task={task} />] as const]),
        ...(task.traceparent === undefined ? [] : [['trace', <Trace traceparent={task.traceparent} />] as const]),
        ...(task.dependsOn === undefined ? [] : [['depends on', <Ids ids={task.dependsOn} />] as const]),
        ...(task.waitsFor === undefined ? [] : [['waits for', <Ids ids={task.waitsFor} />] as const]),
      ]}
    />
    <Timeline task={task} />
    {task.error != null && (
      <>
        <h2>Error</h2>
        <pre tabIndex={0}>{task.error}</pre>
      </>
    )}
    {task.result !== undefined && (
      <>
        <h2>Result</h2>
        <pre tabIndex={0}>{json(task.result)}</pre>
      </>
    )}
    <h2>Payload</h2>
    <pre tabIndex={0}>{json(task.payload)}</pre>
    {task.metadata !== undefined && (
      <>
        <h2>Metadata</h2>
        <pre tabIndex={0}>{json(task.metadata)}</pre>
      </>
    )}
  </>
);

/** The trace that the task belongs to, with a link where it is known where traces are shown. */
const Trace = ({ traceparent }: { traceparent: string }) => {
  const { view } = useContext(SessionContext);
  const url = traceUrlOf(view.traceUrl, traceparent);
  const id = <code>{traceIdIn(traceparent)}</code>;
  return url === null ? (
    id
  ) : (
    <a href={url} target="_blank" rel="noreferrer">
      {id}
    </a>
  );
};

/** Each tag leads to the tasks of the handler that have it. */
const Tags = ({ task: { handler, tags = [] } }: { task: TaskView }) => (
  <>
    {tags.map((tag) => (
      <span key={tag}>
        <a href={hrefOf(['handlers', handler, 'tasks'], { tag })}>{tag}</a>{' '}
      </span>
    ))}
  </>
);

const Ids = ({ ids }: { ids: readonly string[] }) => (
  <>
    {ids.map((id) => (
      <span key={id}>
        <a href={hrefOf(['tasks', id])}>{id}</a>{' '}
      </span>
    ))}
  </>
);

type Step = readonly [at: string, what: ComponentChildren];

const Timeline = ({ task }: { task: TaskView }) => {
  const { data: batch } = useLive<BatchView>(
    task.batch === null ? null : apiPath(['v1', 'batches', String(task.batch)], { members: 0 }),
  );
  const steps: Step[] = [
    [task.createdAt, 'submitted'],
    ...stepsOf(task),
    ...(batch === null ? [] : stepsOfBatch(batch)),
  ];
  steps.sort(([a], [b]) => Date.parse(a) - Date.parse(b));
  return (
    <>
      <h2>Timeline</h2>
      <ol class="steps">
        {steps.map(([at, what], i) => (
          <li key={i}>
            <Time at={at} /> {what}
          </li>
        ))}
      </ol>
    </>
  );
};

const stepsOf = ({ notBefore, expiresAt, finishedAt, state }: TaskView): Step[] => [
  ...(notBefore === undefined ? [] : [[notBefore, 'may join a batch'] as const]),
  ...(expiresAt === undefined ? [] : [[expiresAt, 'expires, if it still waits then'] as const]),
  ...(finishedAt === undefined ? [] : [[finishedAt, `ended as ${state}`] as const]),
];

const stepsOfBatch = ({ id, n, reason, createdAt, startedAt, retryAt, pollAt, attempts }: BatchView): Step[] => {
  const link = <a href={hrefOf(['batches', String(id)])}>batch {id}</a>;
  return [
    [
      createdAt,
      <>
        in {link} of {counted(n, 'task')}, closed by {reason}
      </>,
    ],
    ...(startedAt === null ? [] : [[startedAt, `the first of ${counted(attempts, 'call')}`] as const]),
    ...(retryAt === null ? [] : [[retryAt, 'next call'] as const]),
    ...(pollAt === null ? [] : [[pollAt, 'next look at the downstream'] as const]),
  ];
};
