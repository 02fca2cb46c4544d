import type { Command } from 'commander';
import { Option } from 'commander';
import { MusterError } from '../../errors';
import { collected, command, wholeOption } from '../support/command';
import { exactJson } from '../support/exactJson';
import { plural } from '../support/output';
import type { Session } from '../support/session';
import { runs } from '../support/session';

interface Options {
  batch?: number;
  task?: string[];
  as: 'succeeded' | 'failed' | 'created';
  result?: string;
  error?: string;
}

export const resolveCommand = (): Command =>
  command(
    'resolve',
    'Manually resolve a call with an unknown outcome.',
    [
      'muster resolve --batch 42 --as succeeded',
      'muster resolve --task order-17 --task order-18 --as created',
      'muster resolve --task order-17 --as failed --error "refused, see ticket 5"',
    ],
    '--as created sends the tasks again. If one of the tasks is not unknown, nothing is changed and the exit code is 1.',
  )
    .option('--batch <n>', 'resolve all unknown tasks of this batch', wholeOption(1, Number.MAX_SAFE_INTEGER))
    .option('--task <id>', 'resolve this task; repeatable', collected)
    .addOption(
      new Option('--as <state>', 'outcome of the tasks')
        .choices(['succeeded', 'failed', 'created'])
        .makeOptionMandatory(),
    )
    .option('--result <json>', 'with --as succeeded: their result')
    .option('--error <text>', 'with --as failed: the reason')
    .action(runs(resolve));

async function resolve(session: Session<Options>): Promise<void> {
  const { batch, task, as, error, result } = session.options;
  if ((batch === undefined) === (task === undefined))
    throw new MusterError(
      'INVALID_ARGUMENT',
      'expected either --batch <n> or --task <id>, got ' + (batch === undefined ? 'neither' : 'both'),
    );
  const verdict = {
    as,
    ...(error === undefined ? {} : { error }),
    ...(result === undefined ? {} : { result: exactJson(result, '--result', 'INVALID_ARGUMENT') }),
  };
  const client = await session.client();
  const answer = await client.resolve(batch === undefined ? { tasks: task! } : { batch }, verdict);
  session.out.answer(answer, () => `resolved as ${as}: ${plural(answer.resolved, 'task')}`);
}
