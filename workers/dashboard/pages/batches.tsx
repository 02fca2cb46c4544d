import type { BatchPage, BatchSummary } from '../../../workflows/contracts/batch';
import { BATCH_STATES } from '../../../workflows/planning/states';
import { useLive } from '../api/live';
import { number } from '../model/format';
import type { Place } from '../model/place';
import { apiPath, hrefOf } from '../model/place';
import { Empty, Shown, State, Table, Time, Title } from '../parts/basic';
import { ANY, ERROR_FIELD, Filters, TARGET_FIELD } from '../parts/filters';
import { Pager } from '../parts/pager';

const PER_PAGE = 100;
const STATES = [ANY, ...Object.keys(BATCH_STATES).map((state) => [state, state] as const)];
const FIELDS = [{ name: 'state', label: 'State', choices: STATES }, TARGET_FIELD, ERROR_FIELD];

/** The batches of a handler, in any state or in one; filters and page are in the address. */
export const Batches = ({ place }: { place: Place }) => {
  const handler = place.path[1]!;
  const { state, target, error, after } = place.query;
  const live = useLive<BatchPage>(
    apiPath(['v1', 'handlers', handler, 'batches'], { state, target, error, after, limit: PER_PAGE }),
  );
  const trail = [
    ['Overview', '#/'],
    [handler, hrefOf(['handlers', handler])],
  ] as const;
  return (
    <>
      <Title trail={trail}>{`Batches of ${handler}`}</Title>
      <Filters place={place} fields={FIELDS} />
      <Shown live={live} missing={`There is no handler ${handler}.`}>
        {({ batches, next }) => (
          <>
            {batches.length === 0 ? (
              <Empty>No batch matches{next === null ? '.' : ' on this page: go on to the next.'}</Empty>
            ) : (
              <List handler={handler} batches={batches} />
            )}
            <Pager place={place} next={next} />
          </>
        )}
      </Shown>
    </>
  );
};

const List = ({ handler, batches }: { handler: string; batches: readonly BatchSummary[] }) => (
  <Table
    caption="Batches"
    head={['Batch', 'State', 'Target', '#Tasks', '#Calls', 'Closed by', 'Formed', 'Next call', 'Ended', 'Error']}
  >
    {batches.map((batch) => (
      <tr key={batch.id}>
        <th scope="row">
          <a href={hrefOf(['batches', String(batch.id)])}>{batch.id}</a>
        </th>
        <td>
          <State word={batch.state} />
        </td>
        <td>
          <a href={hrefOf(['handlers', handler, 'targets', batch.target])}>{batch.target}</a>
        </td>
        <td class="n">{number(batch.n - batch.left)}</td>
        <td class="n">{number(batch.attempts)}</td>
        <td>{batch.reason}</td>
        <td>
          <Time at={batch.createdAt} />
        </td>
        <td>
          <Time at={batch.retryAt} />
        </td>
        <td>
          <Time at={batch.finishedAt} />
        </td>
        <td class="wide">{batch.error}</td>
      </tr>
    ))}
  </Table>
);
