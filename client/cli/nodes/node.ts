import type { Command } from 'commander';
import { command } from '../support/command';
import { plural } from '../support/output';
import type { Session } from '../support/session';
import { runs } from '../support/session';

export const nodeCommand = (): Command => {
  const node = command('node', 'Operate one node.', [
    'muster node drain host-4711-0a1b2c3d',
    'muster node drain blue-1 --undo',
  ]);
  node.addCommand(drainCommand());
  return node;
};

const drainCommand = (): Command =>
  command(
    'drain',
    "Drain a node's partitions; --undo makes it eligible again.",
    ['muster node drain host-4711-0a1b2c3d', 'muster node drain blue-1', 'muster node drain blue-1 --undo'],
    'An id drains one process; a name drains every process with that name, even after a restart. The ' +
      'node stays up: its running calls finish, it keeps serving handlers without affinity, and it ' +
      'answers no roll calls of executions.',
  )
    .argument('<node>', 'id or name of a node, see `muster nodes`')
    .option('--undo', 'make it eligible for partitions again')
    .action(runs(drain));

async function drain(session: Session<{ undo?: boolean }>, node: string): Promise<void> {
  const client = await session.client();
  const answer = await client.drainNode(node, { undo: session.options.undo === true });
  const who = `${node} (${plural(answer.nodes.length, 'process', 'processes')})`;
  session.out.answer(answer, () =>
    answer.drained
      ? `${who} is giving up its partitions; follow it with \`muster nodes\``
      : `${who} is eligible for partitions again`,
  );
}
