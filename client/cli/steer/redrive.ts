import type { Command } from 'commander';
import { Option } from 'commander';
import { command, wholeOption } from '../support/command';
import { plural } from '../support/output';
import type { Session } from '../support/session';
import { runs } from '../support/session';

interface Options {
  only: 'failed' | 'unknown' | 'dead';
  target?: string;
  limit?: number;
}

export const redriveCommand = (): Command =>
  command(
    'redrive',
    'Resend failed, dead or unknown tasks with fresh attempts.',
    ['muster redrive orders --only dead', 'muster redrive orders --only failed --target customer-17 --limit 10'],
    'An unknown task may already have been applied, so resending may apply it twice (`muster resolve` settles it without sending).',
  )
    .argument('<handler>')
    .addOption(
      new Option('--only <state>', 'state of the tasks to resend')
        .choices(['failed', 'unknown', 'dead'])
        .makeOptionMandatory(),
    )
    .option('--target <key>', 'resend only tasks of this target')
    .option('--limit <n>', 'maximum number of tasks to resend', wholeOption(1, 1_000_000_000))
    .action(runs(redrive));

async function redrive(session: Session<Options>, handler: string): Promise<void> {
  const { only, target, limit } = session.options;
  const client = await session.client();
  const answer = await client.redrive(handler, {
    only,
    ...(target === undefined ? {} : { target }),
    ...(limit === undefined ? {} : { limit }),
  });
  session.out.answer(answer, () => `redriven: ${plural(answer.redriven, `${only} task`)}`);
}
