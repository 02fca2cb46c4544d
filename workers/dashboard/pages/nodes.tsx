import type { NodeView, PartitionView } from '../../../workflows/contracts/node';
import { useLive } from '../api/live';
import { counted, duration, number } from '../model/format';
import { drainNode, movePartition } from '../model/moreActions';
import { choicesOf, isMoving, movesOf } from '../model/moves';
import { Count, Empty, Ms, Shown, State, Table, Time, Title } from '../parts/basic';
import { Actions, AskButton } from '../parts/buttons';

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
      <Partitions nodes={live.data?.nodes ?? []} />
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

const Partitions = ({ nodes }: { nodes: readonly NodeView[] }) => {
  const live = useLive<{ partitions: PartitionView[] }>('/v1/partitions');
  const all = live.data?.partitions ?? [];
  const handlers = [...new Set(all.map(({ handler }) => handler))];
  return (
    <>
      {handlers.map((handler) => (
        <Map
          key={handler}
          handler={handler}
          partitions={all.filter((one) => one.handler === handler)}
          nodes={choicesOf(nodes, handler)}
          again={live.again}
        />
      ))}
    </>
  );
};

interface MapProps {
  handler: string;
  partitions: readonly PartitionView[];
  nodes: ReturnType<typeof choicesOf>;
  again: () => void;
}
const Map = ({ handler, partitions, nodes, again }: MapProps) => {
  const held = partitions.filter(({ state }) => state === 'held').length;
  return (
    <section aria-label={`Partitions of ${handler}`}>
      <h2>
        Partitions of {handler}: {number(held)} of {counted(partitions.length, 'partition')} held
      </h2>
      <ul class="map">
        {partitions.map((partition) => (
          <li key={partition.no} class={partition.state} title={titleOf(partition)}>
            <AskButton
              class="cell"
              action={movePartition(handler, partition.no, nodes, partition.pinnedTo)}
              then={again}
            >
              {partition.no}
              <span class="hidden">{` ${titleOf(partition)}`}</span>
            </AskButton>
          </li>
        ))}
      </ul>
      <Moves handler={handler} partitions={partitions} />
    </section>
  );
};

/** Those that move now or are pinned, and the newest moves; nothing where none ever moved. */
const Moves = ({ handler, partitions }: { handler: string; partitions: readonly PartitionView[] }) => {
  const moves = movesOf(partitions);
  if (moves.length === 0) return null;
  return (
    <Table
      caption={`Moves of ${handler}`}
      head={['#Partition', 'State', 'Holder', 'Goes to', 'Pinned to', 'Last move', 'Why']}
    >
      {moves.map((one) => (
        <tr key={one.no}>
          <td class="n">{one.no}</td>
          <td>
            <State word={one.state} />
          </td>
          <td>{one.holderName ?? one.holder}</td>
          <td>{isMoving(one) ? (one.wantedByName ?? one.wantedBy) : null}</td>
          <td>{one.pinnedTo}</td>
          <td>
            <Time at={one.lastMove?.at} />
          </td>
          <td class="wide">{one.lastMove?.why}</td>
        </tr>
      ))}
    </Table>
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
