import type { Command } from 'commander';
import { command } from '../support/command';
import { plural } from '../support/output';
import type { Session } from '../support/session';
import { runs } from '../support/session';

export const nodeCommand = (): Command => {
  const node = command('node', 'What an operator does about one node.', [
    'muster node drain host-4711-0a1b2c3d',
    'muster node drain blue-1 --undo',
  ]);
  node.addCommand(drainCommand());
  return node;
};

const drainCommand = (): Command =>
  command(
    'drain',
    'Let a node give up its partitions and get no others; or, with --undo, some again.',
    ['muster node drain host-4711-0a1b2c3d', 'muster node drain blue-1', 'muster node drain blue-1 --undo'],
    'By id it counts for that process, by name for whatever process has the name, also after a restart. It stays up: its calls under way end, and it goes on with handlers without affinity. It answers no roll call of executions meanwhile.',
  )
    .argument('<node>', 'id or name, see `muster nodes`')
    .option('--undo', 'it may have partitions again')
    .action(runs(drain));

async function drain(session: Session<{ undo?: boolean }>, node: string): Promise<void> {
  const client = await session.client();
  const answer = await client.drainNode(node, { undo: session.options.undo === true });
  const who = `${node} (${plural(answer.nodes.length, 'process', 'processes')})`;
  session.out.answer(answer, () =>
    answer.drained
      ? `${who} gives up its partitions; watch it with \`muster nodes\``
      : `${who} may have partitions again`,
  );
}
