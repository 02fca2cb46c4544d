import type { Command } from 'commander';
import { nameOf } from './pause';
import { command } from '../support/command';
import type { Session } from '../support/session';
import { runs } from '../support/session';

export const resumeCommand = (): Command =>
  command('resume', 'Let a paused handler, or one target, go on.', [
    'muster resume orders',
    'muster resume orders customer-17',
  ])
    .argument('<handler>')
    .argument('[target]', 'only this one')
    .action(runs(resume));

async function resume(session: Session, handler: string, target?: string): Promise<void> {
  const client = await session.client();
  await client.resume(handler, target === undefined ? {} : { target });
  session.out.answer({ handler, target: target ?? null, paused: false }, () => `resumed ${nameOf(handler, target)}`);
}
