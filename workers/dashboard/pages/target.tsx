import type { TargetPage } from '../../../workflows/contracts/dashboard';
import type { TaskPage } from '../../../workflows/contracts/task';
import { useLive } from '../api/live';
import { flush, pause, resume } from '../model/actions';
import { bytes, counted, duration, number } from '../model/format';
import type { Place } from '../model/place';
import { apiPath, hrefOf } from '../model/place';
import { Empty, Facts, Meter, Ms, Shown, Table, Time, Title, useNow, Workflow } from '../parts/basic';
import { Actions } from '../parts/buttons';
import { LimitsSet } from '../parts/limitsSet';

/** One target: the batch that its waiting tasks form, and what holds it back. */
export const Target = ({ place }: { place: Place }) => {
  const [, handler = '', , target = ''] = place.path;
  const live = useLive<TargetPage>(apiPath(['dashboard', 'handlers', handler, 'targets', target]), 1_000);
  const trail = [
    ['Overview', '#/'],
    [handler, hrefOf(['handlers', handler])],
  ] as const;
  return (
    <>
      <Title trail={trail}>{target}</Title>
      <Shown live={live} missing={`${handler} has no target ${target}. It is known once a task was submitted for it.`}>
        {(page) => (
          <>
            <Standing page={page} />
            <LimitsSet handler={handler} target={target} limits={page.limitsSet} then={live.again} />
            <Actions
              then={live.again}
              actions={[
                page.paused === null ? pause(handler, target) : resume(handler, target),
                flush(handler, target, page.forming.items),
              ]}
            />
            <Forming page={page} at={live.at} />
            <OpenBatches page={page} />
            <Details page={page} />
          </>
        )}
      </Shown>
      <Waiting handler={handler} target={target} />
    </>
  );
};

const Standing = ({ page: { paused, holdInMs, busy, limits } }: { page: TargetPage }) => (
  <>
    {paused !== null && (
      <p class="sentence">
        Paused <Time at={paused.since} />: {paused.reason ?? 'no reason was given'}.
      </p>
    )}
    {holdInMs !== null && <p class="sentence">Held for {duration(holdInMs)}, by back pressure or its rate.</p>}
    {busy && (
      <p class="sentence">
        At its limit: {counted(limits.perTarget, 'call')} at once. A full batch waits for one to end.
      </p>
    )}
  </>
);

const TICK_MS = 250;
/** The next batch: it goes when one of these is full. */
const Forming = ({ page: { forming, limits }, at }: { page: TargetPage; at: number }) => {
  const now = useNow(TICK_MS);
  const { items, bytes: size, weight, oldestMs, newestMs, more } = forming;
  if (oldestMs === null)
    return (
      <>
        <h2>Next batch</h2>
        <Empty>No task waits here. The next that comes begins a batch of up to {number(limits.maxItems)}.</Empty>
      </>
    );
  const waitedMs = oldestMs + (now - at);
  const quietMs = (newestMs ?? 0) + (now - at);
  return (
    <>
      <h2>Next batch</h2>
      <div class="meters">
        <Meter label="Tasks" n={items} of={limits.maxItems} />
        <Meter
          label="Bytes"
          n={size}
          of={limits.maxBytes}
          text={limits.maxBytes === null ? `${bytes(size)}, no limit` : `${bytes(size)} of ${bytes(limits.maxBytes)}`}
        />
        <Meter
          label="Weight"
          n={weight}
          of={limits.maxWeight}
          text={limits.maxWeight === null ? `${number(weight)}, no limit` : undefined}
        />
        <Meter label="Linger" n={waitedMs} of={limits.lingerMs} text={leftOf(limits.lingerMs, waitedMs)} />
        {limits.quietMs !== null && (
          <Meter label="Quiet" n={quietMs} of={limits.quietMs} text={leftOf(limits.quietMs, quietMs)} />
        )}
      </div>
      {more && <p class="foot">More tasks wait behind it.</p>}
    </>
  );
};

const leftOf = (ofMs: number, goneMs: number): string =>
  goneMs >= ofMs ? `${duration(ofMs)} have passed` : `${duration(ofMs - goneMs)} of ${duration(ofMs)} left`;

const OpenBatches = ({ page: { openBatches } }: { page: TargetPage }) =>
  openBatches.length === 0 ? null : (
    <>
      <h2>Batches on their way</h2>
      <Table caption="Batches on their way" head={['Batch', '#Tasks', '#Calls', 'Next try', 'Reference']}>
        {openBatches.map(({ id, n, attempts, retryAt, reference }) => (
          <tr key={id}>
            <th scope="row">
              <a href={hrefOf(['batches', String(id)])}>{id}</a>
            </th>
            <td class="n">{number(n)}</td>
            <td class="n">{number(attempts)}</td>
            <td>
              <Time at={retryAt} />
            </td>
            <td>{reference ?? <span class="none">–</span>}</td>
          </tr>
        ))}
      </Table>
    </>
  );

const Details = ({ page }: { page: TargetPage }) => (
  <Facts
    facts={[
      ['leader', <Workflow id={page.workflowId}>{page.leader}</Workflow>],
      ['due in', <Ms ms={page.dueInMs} />],
      ['delayed', number(page.delayed)],
      ['in open batches', number(page.inFlight)],
      ['parked', number(page.unknown)],
      [
        'overrides',
        page.overrides === null
          ? 'none'
          : Object.entries(page.overrides)
              .map((one) => one.join(' '))
              .join(', '),
      ],
    ]}
  />
);

const Waiting = ({ handler, target }: { handler: string; target: string }) => {
  const query = { state: 'created', target };
  const live = useLive<TaskPage>(apiPath(['v1', 'handlers', handler, 'tasks'], { ...query, limit: 20 }));
  return (
    <>
      <h2>Waiting tasks</h2>
      <Shown live={live} missing="None.">
        {({ tasks, next }) =>
          tasks.length === 0 ? (
            <Empty>None.</Empty>
          ) : (
            <>
              <Table
                caption="Waiting tasks"
                head={['Task', 'Submitted', 'Not before', '#Priority', '#Attempts', 'Error']}
              >
                {tasks.map((task) => (
                  <tr key={task.id}>
                    <th scope="row">
                      <a href={hrefOf(['tasks', task.id])}>{task.id}</a>
                    </th>
                    <td>
                      <Time at={task.createdAt} />
                    </td>
                    <td>
                      <Time at={task.notBefore} />
                    </td>
                    <td class="n">{task.priority}</td>
                    <td class="n">{task.attempts}</td>
                    <td class="wide">{task.error}</td>
                  </tr>
                ))}
              </Table>
              {next !== null && <a href={hrefOf(['handlers', handler, 'tasks'], query)}>All that wait</a>}
            </>
          )
        }
      </Shown>
    </>
  );
};
