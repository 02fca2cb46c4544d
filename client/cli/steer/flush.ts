import type { Command } from 'commander';
import { command } from '../support/command';
import { plural, printable } from '../support/output';
import type { Session } from '../support/session';
import { runs } from '../support/session';

export const flushCommand = (): Command =>
  command('flush', 'Send lingering tasks now, before they are due.', [
    'muster flush orders',
    'muster flush orders customer-17',
  ])
    .argument('<handler>')
    .argument('[target]', 'flush only this target')
    .action(runs(flush));

async function flush(session: Session, handler: string, target?: string): Promise<void> {
  const client = await session.client();
  const flushed = await client.flush(handler, target);
  session.out.answer(flushed, () =>
    flushed.tasks === 0
      ? 'nothing to flush'
      : `flushed ${plural(flushed.tasks, 'task')} of ${target === undefined ? plural(flushed.targets, 'target') : printable(target)}`,
  );
}
