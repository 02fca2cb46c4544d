import type { Command } from 'commander';
import { nameOf } from './pause';
import { command } from '../support/command';
import type { Session } from '../support/session';
import { runs } from '../support/session';

export const resumeCommand = (): Command =>
  command('resume', 'Resume a paused handler, or one target.', [
    'muster resume orders',
    'muster resume orders customer-17',
  ])
    .argument('<handler>')
    .argument('[target]', 'resume only this target')
    .action(runs(resume));

async function resume(session: Session, handler: string, target?: string): Promise<void> {
  const client = await session.client();
  await client.resume(handler, target === undefined ? {} : { target });
  session.out.answer({ handler, target: target ?? null, paused: false }, () => `resumed ${nameOf(handler, target)}`);
}
