import type { Command } from 'commander';
import { HANGS_AFTER_MS } from '../../../postgres/nodes/rollCall';
import type { NodeView } from '../../nodes/views';
import { command } from '../support/command';
import { duration, table } from '../support/output';
import type { Session } from '../support/session';
import { runs } from '../support/session';

export const nodesCommand = (): Command =>
  command(
    'nodes',
    'List the worker processes: what each serves, the partitions it holds, and its running calls.',
    ['muster nodes', 'muster nodes --json | jq ".[] | {id, partitions, inFlight}"'],
    'With --json: an array with one object per node. "holds" counts the partitions it has leases for; "calls" counts its running calls (and their partitions).',
  ).action(runs(nodes));

async function nodes(session: Session): Promise<void> {
  const client = await session.client();
  const list = await client.nodes();
  session.out.answer(list, () => show(list));
}

const show = (list: readonly NodeView[]): string => {
  if (list.length === 0) return 'No nodes: start one with `muster worker` (or `muster dev`).';
  return table(
    ['node', 'name', 'state', 'seen', 'holds', 'calls', 'load', 'handlers', 'attributes', 'topics', 'version'],
    list.map(row),
  );
};

const row = (node: NodeView): (string | number)[] => [
  node.id,
  node.name ?? '-',
  stateOf(node),
  `${duration(node.seenMs)} ago`,
  node.partitions,
  node.processing === 0 ? node.inFlight : `${node.inFlight} (${node.processing} partitions)`,
  `${node.load}/min`,
  node.handlers.join(', ') || '-',
  Object.entries(node.attributes)
    .map(([key, value]) => `${key}=${value}`)
    .join(', ') || '-',
  node.topics.join(', ') || '-',
  node.version,
];

const stateOf = ({ alive, draining, drained, hangsMs }: NodeView): string => {
  if (!alive) return 'silent';
  if (hangsMs >= HANGS_AFTER_MS) return 'hangs';
  if (draining) return 'stopping';
  return drained ? 'drained' : 'up';
};
