import type { BulkPage, BulkView } from '../../../workflows/contracts/bulk';
import { useLive } from '../api/live';
import { describeBulk, isBulkOpen, lookedAt, stopBulk } from '../model/bulkActions';
import { counted, number } from '../model/format';
import type { Place } from '../model/place';
import { apiPath, hrefOf } from '../model/place';
import { Count, Empty, Facts, Meter, Shown, State, Table, Time, Title } from '../parts/basic';
import { Actions } from '../parts/buttons';
import { Filters, HANDLER_FIELD } from '../parts/filters';
import { Pager } from '../parts/pager';

const PER_PAGE = 50;
const OPEN = [
  ['', 'all'],
  ['true', 'those that have not ended'],
] as const;
const FIELDS = [HANDLER_FIELD, { name: 'open', label: 'Show', choices: OPEN }];

/** Bulk actions, newest first. */
export const BulkActions = ({ place }: { place: Place }) => {
  const { handler, open, after } = place.query;
  const live = useLive<BulkPage>(apiPath(['v1', 'bulk'], { handler, open, after, limit: PER_PAGE }));
  return (
    <>
      <Title>Bulk actions</Title>
      <Filters place={place} fields={FIELDS} />
      <Shown live={live} missing="There is no such handler, or this token has to name one of its handlers.">
        {({ actions, next }) =>
          actions.length === 0 && next === null ? (
            <Empty>
              No bulk action. One is started from the list of tasks of a handler, from the errors, or by{' '}
              <code>muster bulk</code>.
            </Empty>
          ) : (
            <>
              <Table
                caption="Bulk actions"
                head={['Started', 'What', 'State', 'Looked at', '#Changed', '#Skipped', '#Failed', 'By']}
              >
                {actions.map((view) => (
                  <Line key={view.id} view={view} />
                ))}
              </Table>
              <Pager place={place} next={next} />
            </>
          )
        }
      </Shown>
    </>
  );
};

const Line = ({ view }: { view: BulkView }) => (
  <tr>
    <td>
      <Time at={view.createdAt} />
    </td>
    <th scope="row" class="wide">
      <a href={hrefOf(['bulk', view.id])}>{describeBulk(view)}</a>
    </th>
    <td>
      <State word={view.state} />
      {view.waitsFor !== null && ` waits for ${view.waitsFor}`}
    </td>
    <td>
      <Progress view={view} />
    </td>
    <td class="n">
      <Count n={view.done} />
    </td>
    <td class="n">
      <Count n={view.skipped} />
    </td>
    <td class="n">
      <Count n={view.failed} />
    </td>
    <td>{view.who}</td>
  </tr>
);

const Progress = ({ view }: { view: BulkView }) =>
  view.state === 'counting' ? (
    <Meter label="Counted" n={view.total} of={null} text={`${number(view.total)} counted so far`} />
  ) : (
    <Meter label="Looked at" n={lookedAt(view)} of={view.total} />
  );

/** One bulk action: what it does, how far it is, who started it. */
export const BulkAction = ({ place }: { place: Place }) => {
  const id = place.path[1]!;
  const live = useLive<BulkView>(apiPath(['v1', 'bulk', id]));
  return (
    <>
      <Title trail={[['Bulk actions', '#/bulk']]}>{`Bulk action ${id}`}</Title>
      <Shown live={live} missing={`There is no bulk action ${id}. It was never started, or it was deleted.`}>
        {(view) => <Whole view={view} again={live.again} />}
      </Shown>
    </>
  );
};

const Whole = ({ view, again }: { view: BulkView; again: () => void }) => (
  <>
    <p class="sentence">{describeBulk(view)}</p>
    <Actions actions={isBulkOpen(view) ? [stopBulk(view)] : []} then={again} />
    <div class="meters">
      <Progress view={view} />
    </div>
    {view.error !== null && (
      <p class="problem" role="alert">
        Its last step failed, and is tried again: {view.error}
      </p>
    )}
    {view.waitsFor !== null && (
      <p class="problem" role="alert">
        It waits for {view.waitsFor}.
      </p>
    )}
    <Facts
      facts={[
        ['state', <State word={view.state} />],
        ['handler', <a href={hrefOf(['handlers', view.handler])}>{view.handler}</a>],
        ['at most', view.limit === null ? 'all' : counted(view.limit, 'task')],
        ['changed', number(view.done)],
        ['had left the state, or as wanted', number(view.skipped)],
        ['could not be changed', number(view.failed)],
        ['per second', view.perSecond === null ? 'not begun' : number(view.perSecond)],
        ['started', <Time at={view.createdAt} />],
        ['last step', <Time at={view.changedAt} />],
        ['ended', <Time at={view.finishedAt} />],
        ['by', `${view.who}, by ${view.door}${view.origin === null ? '' : ` from ${view.origin}`}`],
      ]}
    />
    {view.failed > 0 && (
      <>
        <h2>Why some could not be changed</h2>
        <Table caption="Reasons" head={['Reason', '#Tasks']}>
          {Object.entries(view.failures).map(([reason, n]) => (
            <tr key={reason}>
              <th scope="row" class="wide">
                {reason}
              </th>
              <td class="n">{number(n)}</td>
            </tr>
          ))}
        </Table>
      </>
    )}
  </>
);
