import type { Command } from 'commander';
import { MusterError } from '../../errors';
import { command } from '../support/command';
import type { Session } from '../support/session';
import { runs } from '../support/session';

export const partitionCommand = (): Command => {
  const partition = command('partition', 'Operate one partition.', [
    'muster partition move orders/3 blue-1',
    'muster partition move orders/3 --anywhere',
  ]);
  partition.addCommand(moveCommand());
  return partition;
};

const moveCommand = (): Command =>
  command(
    'move',
    'Pin a partition to a node for as long as that node lives; --anywhere removes the pin.',
    [
      'muster partition move orders/3 blue-1',
      'muster partition move orders/3 host-4711-0a1b2c3d',
      'muster partition move orders/3 --anywhere',
    ],
    'A name pins it to any process with that name, even after a restart; an id pins it to that process only. The current holder first finishes its calls, within the shutdown limit.',
  )
    .argument('<partition>', '<handler>/<number>, see `muster partitions`')
    .argument('[node]', 'id or name of a node, see `muster nodes`')
    .option('--anywhere', 'remove the pin')
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
      ? `${answer.partition} is no longer pinned: the balancer places it`
      : `${answer.partition} moves to ${answer.pinnedTo} once its holder has given it up; follow it with \`muster partitions\``,
  );
}
