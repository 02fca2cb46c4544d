import type { Command } from 'commander';
import type { PartitionView } from '../../nodes/views';
import { command } from '../support/command';
import { duration, table } from '../support/output';
import type { Session } from '../support/session';
import { runs } from '../support/session';

export const partitionsCommand = (): Command =>
  command(
    'partitions',
    'List the partitions of handlers with affinity: holder, epoch and age, running calls, checkpoint, and why each last moved.',
    [
      'muster partitions',
      'muster partitions orders',
      'muster partitions --json | jq "map(select(.state != \\"held\\"))"',
    ],
    'With --json: an array with one object per partition. "processing" lists the nodes with running calls of it, which may differ from its holder.',
  )
    .argument('[handler]', 'list only the partitions of this handler')
    .action(runs(partitions));

async function partitions(session: Session, handler?: string): Promise<void> {
  const client = await session.client();
  const list = await client.partitions(handler === undefined ? {} : { handler });
  session.out.answer(list, () => show(list));
}

const show = (list: readonly PartitionView[]): string => {
  if (list.length === 0)
    return "No partitions: give a handler `affinity: 'partition'` in the config file and start a worker with it.";
  return table(
    [
      'partition',
      'holder',
      'state',
      'epoch',
      'for',
      'lease left',
      'load',
      'processing',
      'checkpoint',
      'last move',
      'why',
    ],
    list.map(row),
  );
};

const row = (one: PartitionView): (string | number)[] => [
  one.partition,
  one.holder === null ? '-' : (one.holderName ?? one.holder),
  stateOf(one),
  one.epoch,
  one.sinceMs === null ? '-' : duration(one.sinceMs),
  one.leaseLeftMs === null ? '-' : duration(one.leaseLeftMs),
  `${one.load}/min`,
  one.processing.map(({ node, name, calls }) => `${name ?? node} ${calls}`).join(', ') || '-',
  one.checkpoint === null ? '-' : `${cut(JSON.stringify(one.checkpoint.value))} (epoch ${one.checkpoint.epoch})`,
  one.lastMove?.at ?? 'never',
  one.lastMove?.why ?? '-',
];

const cut = (text: string): string => (text.length > 40 ? `${text.slice(0, 39)}…` : text);

const stateOf = (one: PartitionView): string => {
  const parts = [one.state as string];
  if (one.state === 'revoked')
    parts.push(
      `for ${duration(one.revokedMs!)}, wanted by ${one.wantedByName ?? one.wantedBy ?? 'no node in particular'}`,
    );
  if (one.state === 'kept') parts.push(`for ${one.keptFor}, ${duration(one.keptLeftMs!)} more`);
  if (one.pinnedTo !== null) parts.push(`pinned to ${one.pinnedTo}`);
  return parts.join('; ').replace('revoked; for', 'revoked for').replace('kept; for', 'kept for');
};
