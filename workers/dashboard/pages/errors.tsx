import { useLive } from '../api/live';
import { actionsOnErrors } from '../model/bulkActions';
import { number } from '../model/format';
import type { Place } from '../model/place';
import { apiPath, hrefOf } from '../model/place';
import { Count, Empty, Shown, State, Table, Time, Title } from '../parts/basic';
import { Actions } from '../parts/buttons';
import { Filters, HANDLER_FIELD } from '../parts/filters';

interface ErrorGroup {
  handler: string | null;
  of: 'dead' | 'failed' | 'unknown' | 'retrying' | 'callback';
  text: string;
  count: number;
  first: string;
  last: string;
  error: string;
  tasks: string[];
  batches: number[];
  again: string | null;
}
interface Errors {
  errors: ErrorGroup[];
  looked: number;
  complete: boolean;
}

/** Errors by their text, most frequent first. */
export const ErrorList = ({ place }: { place: Place }) => {
  const { handler } = place.query;
  const live = useLive<Errors>(apiPath(['v1', 'errors'], { handler, limit: 100 }), 5_000);
  return (
    <>
      <Title>Errors</Title>
      <Filters place={place} fields={[HANDLER_FIELD]} />
      <Shown live={live} missing="Not available: this API has no list of errors, or not for this token.">
        {({ errors, looked, complete }) =>
          errors.length === 0 ? (
            <Empty>No error in the last day.</Empty>
          ) : (
            <>
              <Table caption="Errors" head={['Handler', 'Of', '#Times', 'Error', 'First', 'Last', 'Tasks', 'Again']}>
                {errors.map((group) => (
                  <Line key={`${group.handler} ${group.of} ${group.text}`} group={group} then={live.again} />
                ))}
              </Table>
              {!complete && <p class="foot">Of the newest {number(looked)} rows; there are more.</p>}
            </>
          )
        }
      </Shown>
    </>
  );
};

const STATES = { dead: 'dead', failed: 'failed', unknown: 'unknown', retrying: 'created', callback: null } as const;

const Line = ({ group, then }: { group: ErrorGroup; then: () => void }) => {
  const { handler, of, text, count, tasks, batches } = group;
  const state = STATES[of];
  const href = handler === null || state === null ? undefined : hrefOf(['handlers', handler, 'tasks'], { state });
  return (
    <tr>
      <th scope="row">{handler === null ? 'fan-outs' : <a href={hrefOf(['handlers', handler])}>{handler}</a>}</th>
      <td>
        <State word={of} />
      </td>
      <td class="n">
        <Count n={count} href={href} />
      </td>
      <td class="wide" title={group.error}>
        {text}
      </td>
      <td>
        <Time at={group.first} />
      </td>
      <td>
        <Time at={group.last} />
      </td>
      <td class="wide">
        {tasks.map((id) => (
          <span key={id}>
            <a href={hrefOf(['tasks', id])}>{id}</a>{' '}
          </span>
        ))}
        {batches.map((id) => (
          <span key={id}>
            <a href={hrefOf(['batches', String(id)])}>batch {id}</a>{' '}
          </span>
        ))}
      </td>
      <td>
        <Actions actions={actionsOnErrors(handler, of, text)} then={then} />
        {of === 'callback' && (
          <div>
            <a href={hrefOf(['callbacks'], { handler })}>See them</a>
          </div>
        )}
        <code>{group.again ?? 'by itself'}</code>
      </td>
    </tr>
  );
};
