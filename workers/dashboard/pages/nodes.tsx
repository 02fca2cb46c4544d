import type { NodeView, PartitionView } from '../../../workflows/contracts/node';
import { useLive } from '../api/live';
import { counted, duration, number } from '../model/format';
import { drainNode } from '../model/moreActions';
import { Count, Empty, Ms, Shown, State, Table, Time, Title } from '../parts/basic';
import { Actions } from '../parts/buttons';

/** Worker processes, and who holds which partition. */
export const Nodes = () => {
  const live = useLive<{ nodes: NodeView[] }>('/v1/nodes');
  return (
    <>
      <Title>Nodes</Title>
      <Shown live={live} missing="This token sees no nodes.">
        {({ nodes }) =>
          nodes.length === 0 ? (
            <Empty>
              No worker process is known. Start one: <code>muster worker</code>.
            </Empty>
          ) : (
            <List nodes={nodes} again={live.again} />
          )
        }
      </Shown>
      <Partitions />
    </>
  );
};

const wordOf = ({ alive, drained, draining }: NodeView): string =>
  draining ? 'draining' : !alive ? 'silent' : drained ? 'drained' : 'alive';

const List = ({ nodes, again }: { nodes: readonly NodeView[]; again: () => void }) => (
  <Table
    caption="Nodes"
    head={[
      'Node',
      'State',
      '#Seen',
      '#Partitions',
      '#Calls',
      '#Batches in a minute',
      'Handlers',
      'Version',
      'Started',
      'Step',
    ]}
  >
    {nodes.map((node) => (
      <tr key={node.id}>
        <th scope="row" title={node.id}>
          {node.name ?? node.id}
        </th>
        <td>
          <State word={wordOf(node)} />
        </td>
        <td class="n">
          <Ms ms={node.seenMs} />
        </td>
        <td class="n">
          <Count n={node.partitions} />
        </td>
        <td class="n">
          <Count n={node.inFlight} />
        </td>
        <td class="n">
          <Count n={node.load} />
        </td>
        <td class="wide">{node.handlers.join(', ')}</td>
        <td>{node.version}</td>
        <td>
          <Time at={node.startedAt} />
        </td>
        <td>{node.alive && <Actions actions={[drainNode(node.id, node.partitions, node.drained)]} then={again} />}</td>
      </tr>
    ))}
  </Table>
);

const Partitions = () => {
  const live = useLive<{ partitions: PartitionView[] }>('/v1/partitions');
  const all = live.data?.partitions ?? [];
  const handlers = [...new Set(all.map(({ handler }) => handler))];
  return (
    <>
      {handlers.map((handler) => (
        <Map key={handler} handler={handler} partitions={all.filter((one) => one.handler === handler)} />
      ))}
    </>
  );
};

const Map = ({ handler, partitions }: { handler: string; partitions: readonly PartitionView[] }) => {
  const held = partitions.filter(({ state }) => state === 'held').length;
  return (
    <section aria-label={`Partitions of ${handler}`}>
      <h2>
        Partitions of {handler}: {number(held)} of {counted(partitions.length, 'partition')} held
      </h2>
      <ul class="map">
        {partitions.map((partition) => (
          <li key={partition.no} class={partition.state} title={titleOf(partition)}>
            {partition.no}
            <span class="hidden">{` ${titleOf(partition)}`}</span>
          </li>
        ))}
      </ul>
    </section>
  );
};

const titleOf = ({ state, holder, holderName, sinceMs, wantedByName, pinnedTo, processing }: PartitionView): string =>
  [
    [state, ...(holder === null ? [] : [`by ${holderName ?? holder}`])].join(' '),
    ...(sinceMs === null ? [] : [`for ${duration(sinceMs)}`]),
    ...(wantedByName === null ? [] : [`goes to ${wantedByName}`]),
    ...(pinnedTo === null ? [] : [`pinned to ${pinnedTo}`]),
    ...processing.map(({ name, node, calls }) => `${counted(calls, 'call')} on ${name ?? node}`),
  ].join('; ');
