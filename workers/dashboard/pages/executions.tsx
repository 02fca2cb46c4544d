import type { ChunkView, ExecutionView, WorkItemView } from '../../../workflows/contracts/execution';
import { useLive } from '../api/live';
import { number, shorten } from '../model/format';
import { cancelExecution } from '../model/moreActions';
import type { Place } from '../model/place';
import { apiPath, hrefOf } from '../model/place';
import { Count, Empty, Facts, Meter, Ms, Shown, State, Table, Time, Title } from '../parts/basic';
import { Actions } from '../parts/buttons';
import { Pager } from '../parts/pager';

const endedOf = ({ counts }: ExecutionView): number => counts.done + counts.permanentlyFailed;

export const Executions = () => {
  const live = useLive<{ executions: ExecutionView[] }>('/v1/executions?limit=50');
  return (
    <>
      <Title>Executions</Title>
      <Shown live={live} missing="This token sees no executions.">
        {({ executions }) =>
          executions.length === 0 ? (
            <Empty>
              No execution yet. <code>muster.execute()</code> runs one function over many argument lists.
            </Empty>
          ) : (
            <Table
              caption="The newest executions"
              head={[
                'Execution',
                'Function',
                'State',
                'Ended',
                '#Running',
                '#To try again',
                '#Failed',
                'Started',
                'Waits for',
              ]}
            >
              {executions.map((execution) => (
                <tr key={execution.id}>
                  <th scope="row">
                    <a href={hrefOf(['executions', execution.id])}>
                      <code>{execution.id}</code>
                    </a>
                  </th>
                  <td>{`${execution.functionId}/${execution.method}`}</td>
                  <td>
                    <State word={execution.state} />
                  </td>
                  <td>
                    <Meter label="Items that have ended" n={endedOf(execution)} of={execution.items} />
                  </td>
                  <td class="n">
                    <Count n={execution.counts.inProgress} />
                  </td>
                  <td class="n">
                    <Count n={execution.counts.failed} />
                  </td>
                  <td class="n">
                    <Count n={execution.counts.permanentlyFailed} />
                  </td>
                  <td>
                    <Time at={execution.createdAt} />
                  </td>
                  <td class="wide">{execution.message}</td>
                </tr>
              ))}
            </Table>
          )
        }
      </Shown>
    </>
  );
};

export const Execution = ({ place }: { place: Place }) => {
  const id = place.path[1]!;
  const live = useLive<ExecutionView>(apiPath(['v1', 'executions', id]));
  return (
    <>
      <Title trail={[['Executions', '#/executions']]}>{id}</Title>
      <Shown live={live} missing={`There is no execution ${id}.`}>
        {(execution) => <Whole execution={execution} place={place} again={live.again} />}
      </Shown>
    </>
  );
};

const Whole = ({ execution, place, again }: { execution: ExecutionView; place: Place; again: () => void }) => {
  const { id, counts, items, state } = execution;
  const isOpen = state !== 'done' && state !== 'cancelled';
  return (
    <>
      {execution.message !== null && <p class="sentence">{execution.message}</p>}
      <Actions actions={isOpen ? [cancelExecution(id, items - endedOf(execution))] : []} then={again} />
      <div class="meters">
        <Meter label="Ended" n={endedOf(execution)} of={items} />
      </div>
      <Facts
        facts={[
          ['function', `${execution.functionId}/${execution.method}`],
          ['state', <State word={state} />],
          ['waiting', number(counts.created)],
          ['running', number(counts.inProgress)],
          ['done', number(counts.done)],
          ['to try again', number(counts.failed)],
          ['failed for good', number(counts.permanentlyFailed)],
          ['round', number(execution.round)],
          ['runs per item, at most', execution.attemptsLimit ?? 'not decided yet'],
          ['made', <Time at={execution.createdAt} />],
          ['started', <Time at={execution.startedAt} />],
          ['ended', <Time at={execution.finishedAt} />],
        ]}
      />
      <Chunks id={id} />
      <Items id={id} place={place} />
    </>
  );
};

const SHOWN_CHUNKS = 50;
const Chunks = ({ id }: { id: string }) => {
  const { data } = useLive<{ chunks: ChunkView[] }>(apiPath(['v1', 'executions', id, 'chunks']));
  if (data === null || data.chunks.length === 0) return null;
  return (
    <>
      <h2>Chunks</h2>
      <Table caption="Chunks" head={['#Round', 'Node', 'State', '#Items', '#Open', 'Why']}>
        {data.chunks.slice(0, SHOWN_CHUNKS).map((chunk) => (
          <tr key={chunk.id}>
            <td class="n">{chunk.round}</td>
            <th scope="row">{chunk.node}</th>
            <td>
              <State word={chunk.state} />
            </td>
            <td class="n">{number(chunk.items)}</td>
            <td class="n">
              <Count n={chunk.open} />
            </td>
            <td>{chunk.reason}</td>
          </tr>
        ))}
      </Table>
    </>
  );
};

const Items = ({ id, place }: { id: string; place: Place }) => {
  const live = useLive<{ items: WorkItemView[]; next?: number }>(
    apiPath(['v1', 'executions', id, 'items'], { limit: 50, after: place.query['after'] }),
  );
  return (
    <>
      <h2>Items</h2>
      <Shown live={live} missing="None.">
        {({ items, next }) => (
          <>
            <Table caption="Items" head={['#Place', 'State', '#Runs', '#Exit', '#Took', 'Arguments', 'Output']}>
              {items.map((item) => (
                <tr key={item.position}>
                  <th scope="row" class="n">
                    {item.position}
                  </th>
                  <td>
                    <State word={item.state} />
                  </td>
                  <td class="n">{item.attempts}</td>
                  <td class="n">{item.exitCode}</td>
                  <td class="n">
                    <Ms ms={item.usage?.wallMs} />
                  </td>
                  <td class="wide">
                    <code>{shorten(JSON.stringify(item.arguments), 200)}</code>
                  </td>
                  <td class="wide">
                    <code>
                      {shorten(item.stderr !== null && item.stderr !== '' ? item.stderr : (item.stdout ?? ''), 200)}
                    </code>
                  </td>
                </tr>
              ))}
            </Table>
            <Pager place={place} next={next === undefined ? null : String(next)} />
          </>
        )}
      </Shown>
    </>
  );
};
