import { useLive } from '../api/live';
import { number } from '../model/format';
import type { Place } from '../model/place';
import { apiPath, hrefOf } from '../model/place';
import { Count, Empty, Shown, State, Table, Time, Title } from '../parts/basic';
import { refine } from '../parts/pager';

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
      <form
        class="filters"
        key={handler ?? ''}
        onSubmit={(event) => {
          event.preventDefault();
          refine(place, { handler: String(new FormData(event.currentTarget).get('handler') ?? '') });
        }}
      >
        <label>
          Handler
          <input name="handler" defaultValue={handler ?? ''} maxLength={64} />
        </label>
        <button type="submit">Filter</button>
      </form>
      <Shown live={live} missing="Not available: this API has no list of errors, or not for this token.">
        {({ errors, looked, complete }) =>
          errors.length === 0 ? (
            <Empty>No error in the last day.</Empty>
          ) : (
            <>
              <Table caption="Errors" head={['Handler', 'Of', '#Times', 'Error', 'First', 'Last', 'Tasks', 'Again']}>
                {errors.map((group) => (
                  <Line key={`${group.handler} ${group.of} ${group.text}`} group={group} />
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

const Line = ({ group }: { group: ErrorGroup }) => {
  const { handler, of, count, tasks, batches } = group;
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
        {group.text}
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
        <code>{group.again ?? 'by itself'}</code>
      </td>
    </tr>
  );
};
