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
    'Send tasks that failed, died or are unknown once more, with fresh attempts.',
    ['muster redrive orders --only dead', 'muster redrive orders --only failed --target customer-17 --limit 10'],
    'Unknown ones may have been done already: redriven, they may be done twice (`muster resolve` settles them without sending).',
  )
    .argument('<handler>')
    .addOption(new Option('--only <state>', 'which ones').choices(['failed', 'unknown', 'dead']).makeOptionMandatory())
    .option('--target <key>', 'only of this target')
    .option('--limit <n>', 'at most so many', wholeOption(1, 1_000_000_000))
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
