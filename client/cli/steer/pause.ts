import type { Command } from 'commander';
import { command } from '../support/command';
import { printable } from '../support/output';
import type { Session } from '../support/session';
import { runs } from '../support/session';

interface Options {
  reason?: string;
}

export const pauseCommand = (): Command =>
  command(
    'pause',
    'Stop sending for a handler, or one target; calls in flight finish.',
    ['muster pause orders --reason "the shop is being moved"', 'muster pause orders customer-17'],
    'Tasks are still accepted, and wait until `muster resume`.',
  )
    .argument('<handler>')
    .argument('[target]', 'pause only this target')
    .option('--reason <text>', 'reason shown by status, targets and explain')
    .action(runs(pause));

async function pause(session: Session<Options>, handler: string, target?: string): Promise<void> {
  const { reason } = session.options;
  const client = await session.client();
  await client.pause(handler, {
    ...(target === undefined ? {} : { target }),
    ...(reason === undefined ? {} : { reason }),
  });
  session.out.answer(
    { handler, target: target ?? null, paused: true, reason: reason ?? null },
    () => `paused ${nameOf(handler, target)}`,
  );
}

export const nameOf = (handler: string, target?: string): string =>
  target === undefined ? handler : `target ${printable(target)} of ${handler}`;
