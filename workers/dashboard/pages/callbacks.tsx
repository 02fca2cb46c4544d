import type { CallbackPage, UndeliveredCallback } from '../../../workflows/contracts/callback';
import { CALLBACK_STATES } from '../../../workflows/planning/callbacks/undelivered';
import { useLive } from '../api/live';
import { sendCallback, sendCallbacks } from '../model/moreActions';
import type { Place } from '../model/place';
import { apiPath, hrefOf } from '../model/place';
import { Empty, Shown, State, Table, Time, Title } from '../parts/basic';
import { Actions } from '../parts/buttons';
import { ANY, Filters, HANDLER_FIELD } from '../parts/filters';
import { Pager } from '../parts/pager';

const PER_PAGE = 100;
const STATES = [ANY, ...CALLBACK_STATES.map((state) => [state, state] as const)];
const FIELDS = [HANDLER_FIELD, { name: 'state', label: 'State', choices: STATES }];

/** Callbacks that were tried and not delivered, newest first. */
export const Callbacks = ({ place }: { place: Place }) => {
  const { handler, state, after } = place.query;
  const live = useLive<CallbackPage>(apiPath(['v1', 'callbacks'], { handler, state, after, limit: PER_PAGE }), 5_000);
  return (
    <>
      <Title>Undelivered callbacks</Title>
      <Filters place={place} fields={FIELDS} />
      <Shown live={live} missing="There is no such handler, or this token has to name one of its handlers.">
        {({ callbacks, next }) => (
          <>
            <Actions
              actions={callbacks.some((one) => one.state === 'given-up') ? [sendCallbacks(handler)] : []}
              then={live.again}
            />
            {callbacks.length === 0 ? (
              <Empty>
                {next === null ? 'All callbacks that are due were delivered.' : 'None on this page: go on to the next.'}
              </Empty>
            ) : (
              <Table
                caption="Undelivered callbacks"
                head={[
                  'Callback',
                  'State',
                  'Of',
                  'Receiver',
                  '#Tries',
                  'Error',
                  'Made',
                  'Next try',
                  'Given up',
                  'Again',
                ]}
              >
                {callbacks.map((callback) => (
                  <Line key={callback.id} callback={callback} again={live.again} />
                ))}
              </Table>
            )}
            <Pager place={place} next={next} />
          </>
        )}
      </Shown>
    </>
  );
};

const Line = ({ callback, again }: { callback: UndeliveredCallback; again: () => void }) => (
  <tr>
    <th scope="row" title={callback.message}>
      {callback.id}
    </th>
    <td>
      <State word={callback.state} />
    </td>
    <td>
      <Origin callback={callback} />
    </td>
    <td class="wide">{receiverOf(callback)}</td>
    <td class="n">{callback.attempts}</td>
    <td class="wide">{callback.error}</td>
    <td>
      <Time at={callback.createdAt} />
    </td>
    <td>
      <Time at={callback.nextAt} />
    </td>
    <td>
      <Time at={callback.endedAt} />
    </td>
    <td>
      <Actions actions={[sendCallback(callback.id)]} then={again} />
    </td>
  </tr>
);

/** What the callback tells the end of. */
const Origin = ({ callback: { handler, batch, fanout } }: { callback: UndeliveredCallback }) => {
  if (fanout !== null) return <a href={hrefOf(['fanouts', fanout])}>fan-out {fanout}</a>;
  return (
    <>
      {handler !== null && <a href={hrefOf(['handlers', handler])}>{handler}</a>}
      {batch !== null && (
        <>
          {' '}
          <a href={hrefOf(['batches', String(batch)])}>batch {batch}</a>
        </>
      )}
    </>
  );
};

const receiverOf = ({ to }: UndeliveredCallback): string =>
  'url' in to ? to.url : `workflow ${to.workflowId}${to.signal === undefined ? '' : `, signal ${to.signal}`}`;
