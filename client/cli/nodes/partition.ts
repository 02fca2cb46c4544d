import type { Command } from 'commander';
import { MusterError } from '../../errors';
import { command } from '../support/command';
import type { Session } from '../support/session';
import { runs } from '../support/session';

export const partitionCommand = (): Command => {
  const partition = command('partition', 'What an operator does about one partition.', [
    'muster partition move orders/3 blue-1',
    'muster partition move orders/3 --anywhere',
  ]);
  partition.addCommand(moveCommand());
  return partition;
};

const moveCommand = (): Command =>
  command(
    'move',
    'Move a partition to a node, where it stays while that node lives; or, with --anywhere, wherever the balancer puts it.',
    [
      'muster partition move orders/3 blue-1',
      'muster partition move orders/3 host-4711-0a1b2c3d',
      'muster partition move orders/3 --anywhere',
    ],
    'A name counts for whatever process has it, also after a restart; an id for that process alone. The holder ends its calls first, within the shutdown limit.',
  )
    .argument('<partition>', '<handler>/<number>, see `muster partitions`')
    .argument('[node]', 'id or name, see `muster nodes`')
    .option('--anywhere', 'where it is does not matter any more')
    .action(runs(move));

async function move(session: Session<{ anywhere?: boolean }>, partition: string, node?: string): Promise<void> {
  const anywhere = session.options.anywhere === true;
  if (anywhere === (node !== undefined))
    throw new MusterError(
      'INVALID_ARGUMENT',
      `node: expected a node or --anywhere, got ${anywhere ? 'both' : 'neither'}. Nothing was changed.`,
    );
  const client = await session.client();
  const answer = await client.movePartition(partition, node ?? null);
  session.out.answer(answer, () =>
    answer.pinnedTo === null
      ? `${answer.partition} goes wherever the balancer puts it`
      : `${answer.partition} goes to ${answer.pinnedTo} when its holder has given it up; watch it with \`muster partitions\``,
  );
}
