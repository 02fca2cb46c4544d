import type { HandlerPage } from '../../../workflows/contracts/dashboard';
import type { TargetStatus } from '../../../workflows/contracts/handler';
import { TASK_STATES } from '../../../workflows/planning/states';
import { useLive } from '../api/live';
import { flush, pause, resume } from '../model/actions';
import { bytes, duration, number } from '../model/format';
import type { Place } from '../model/place';
import { apiPath, hrefOf } from '../model/place';
import { Count, Empty, Facts, Meter, Ms, Shown, State, Table, Time, Title, Workflow } from '../parts/basic';
import { Actions } from '../parts/buttons';
import { Calls } from '../parts/calls';
import { LimitsSet, SharedLimit } from '../parts/limitsSet';
import { Pager } from '../parts/pager';

/** One handler: what it may do, what it does, and where its tasks go. */
export const Handler = ({ place }: { place: Place }) => {
  const handler = place.path[1]!;
  const live = useLive<HandlerPage>(apiPath(['dashboard', 'handlers', handler]));
  return (
    <>
      <Title trail={[['Overview', '#/']]}>{handler}</Title>
      <Shown live={live} missing={`There is no handler ${handler}. It is known once a worker has started with it.`}>
        {(page) => <Whole page={page} again={live.again} />}
      </Shown>
      <h2>Targets</h2>
      <Targets handler={handler} place={place} />
    </>
  );
};

const Whole = ({ page, again }: { page: HandlerPage; again: () => void }) => {
  const { status } = page;
  const { handler, paused, holdUntil, stalled, served, counts } = status;
  return (
    <>
      {paused !== null && (
        <p class="sentence">
          Paused <Time at={paused.since} />: {paused.reason ?? 'no reason was given'}.
        </p>
      )}
      {holdUntil !== null && (
        <p class="sentence">
          Held by back pressure; it goes on by itself <Time at={holdUntil} />.
        </p>
      )}
      {!served && <p class="sentence">No live worker has this handler, so nothing is sent.</p>}
      {stalled.map(({ kind, name, ms, workflowId }) => (
        <p key={workflowId + name} class="sentence">
          {kind === 'read' ? 'The read of batch' : `The ${kind}`} <Workflow id={workflowId}>{name}</Workflow> has made
          no progress for {duration(ms)}.
        </p>
      ))}
      <Actions
        then={again}
        actions={[
          paused === null ? pause(handler, null) : resume(handler, null),
          ...(holdUntil !== null && paused === null ? [resume(handler, null)] : []),
          flush(handler, null, counts.created),
        ]}
      />
      <States page={page} />
      <Calls handler={handler} />
      <Limits page={page} again={again} />
      {status.sharesLimit !== null && <SharedLimit name={status.sharesLimit} />}
      <Leaders page={page} />
    </>
  );
};

const States = ({ page: { status } }: { page: HandlerPage }) => (
  <>
    <h2>Tasks{status.estimated && ' (estimated from a sample)'}</h2>
    <Facts
      facts={[
        ...Object.keys(TASK_STATES).map(
          (state) =>
            [
              state === 'created' ? 'waiting' : state,
              <Count
                n={status.counts[state as keyof typeof TASK_STATES]}
                href={hrefOf(['handlers', status.handler, 'tasks'], { state })}
              />,
            ] as const,
        ),
        ['oldest waiting', <Ms ms={status.oldestQueuedMs} />],
        ['of them held for others', number(status.held)],
        ['batches', <a href={hrefOf(['handlers', status.handler, 'batches'])}>list them</a>],
      ]}
    />
  </>
);

const Limits = ({ page: { status, limits }, again }: { page: HandlerPage; again: () => void }) => (
  <>
    <h2>Limits and use</h2>
    <LimitsSet handler={status.handler} target={null} limits={status.limitsSet} then={again} />
    <div class="meters">
      <Meter
        label="Calls"
        n={status.inFlightCalls}
        of={Math.min(limits.perHandler, limits.allowed ?? Infinity)}
        text={`${number(status.inFlightCalls)} in flight of ${number(limits.perHandler)}${
          limits.allowed === null ? '' : `; back pressure allows ${number(limits.allowed)}`
        }`}
      />
      <Meter label="Slots" n={limits.slots} of={limits.perHandler} />
    </div>
    <Facts
      facts={[
        ['batch, tasks', `${limits.minItems > 1 ? `${number(limits.minItems)} to ` : ''}${number(limits.maxItems)}`],
        ['batch, bytes', limits.maxBytes === null ? 'no limit' : bytes(limits.maxBytes)],
        ['batch, weight', limits.maxWeight === null ? 'no limit' : number(limits.maxWeight)],
        ['linger', <Ms ms={limits.lingerMs} />],
        ['quiet period', <Ms ms={limits.quietMs} />],
        ['calls per target', number(limits.perTarget)],
        ['limit shared with other handlers', status.sharesLimit ?? 'none'],
        ['time limit of a call', <Ms ms={limits.maxAttemptMs} />],
        [
          'partitions held',
          status.partitions === null ? 'any node serves it' : `${status.partitions.held} of ${status.partitions.n}`,
        ],
      ]}
    />
  </>
);

const SHOWN_LEADERS = 20;
const Leaders = ({ page: { status, workflows } }: { page: HandlerPage }) => {
  const { leaders } = status;
  if (leaders.length === 0) return null;
  return (
    <>
      <h2>Leaders</h2>
      <Table
        caption="Leaders"
        head={['Leader', 'State', '#Looks again in', '#Lease left', '#Unanswered for', '#Epoch']}
      >
        {leaders.slice(0, SHOWN_LEADERS).map(({ name, state, wakeInMs, expiresInMs, unansweredMs, epoch }) => (
          <tr key={name}>
            <th scope="row">
              {workflows[name] === undefined ? name : <Workflow id={workflows[name]}>{name}</Workflow>}
            </th>
            <td>
              <State word={state} level={unansweredMs === null ? 'calm' : 'warn'} />
            </td>
            <td class="n">
              <Ms ms={wakeInMs} />
            </td>
            <td class="n">
              <Ms ms={expiresInMs} />
            </td>
            <td class="n">
              <Ms ms={unansweredMs} />
            </td>
            <td class="n">{number(epoch)}</td>
          </tr>
        ))}
      </Table>
      {leaders.length > SHOWN_LEADERS && (
        <p class="foot">{leaders.length - SHOWN_LEADERS} more leaders, all of which answer sooner.</p>
      )}
    </>
  );
};

const Targets = ({ handler, place }: { handler: string; place: Place }) => {
  const { after } = place.query;
  const live = useLive<{ targets: TargetStatus[]; next?: string }>(
    apiPath(['v1', 'handlers', handler, 'targets'], { after, limit: 50 }),
  );
  return (
    <Shown live={live} missing="None is known.">
      {({ targets, next }) =>
        targets.length === 0 ? (
          <Empty>No target yet. A target is known once a task was submitted for it.</Empty>
        ) : (
          <>
            <Table
              caption="Targets"
              head={['Target', 'State', '#Waiting', '#Delayed', '#In flight', '#Parked', '#Due in', 'Leader']}
            >
              {targets.map((target) => (
                <TargetLine key={target.key} handler={handler} target={target} />
              ))}
            </Table>
            <Pager place={place} next={next} />
          </>
        )
      }
    </Shown>
  );
};

const TargetLine = ({ handler, target }: { handler: string; target: TargetStatus }) => (
  <tr>
    <th scope="row">
      <a href={hrefOf(['handlers', handler, 'targets', target.key])}>{target.key}</a>
    </th>
    <td>
      {target.paused !== null && <State word="paused" />}{' '}
      {target.holdInMs !== null && <State word="held" level="warn" />}{' '}
      {target.busy && <State word="at its limit" level="warn" />} <span class="why">{target.paused?.reason}</span>
    </td>
    <td class="n">
      <Count
        n={target.queued}
        href={hrefOf(['handlers', handler, 'tasks'], { state: 'created', target: target.key })}
      />
    </td>
    <td class="n">
      <Count n={target.delayed} />
    </td>
    <td class="n">
      <Count n={target.inFlight} />
    </td>
    <td class="n">
      <Count
        n={target.unknown}
        href={hrefOf(['handlers', handler, 'tasks'], { state: 'unknown', target: target.key })}
      />
    </td>
    <td class="n">
      <Ms ms={target.dueInMs} />
    </td>
    <td>{target.leader}</td>
  </tr>
);
