import type { Command } from 'commander';
import { command } from './support/command';
import { EXIT } from './support/exitCodes';
import { plural, printable } from './support/output';
import type { Session } from './support/session';
import { runs } from './support/session';

export const cancelCommand = (): Command =>
  command(
    'cancel',
    'Cancel tasks that are still waiting; what is in a batch already goes on.',
    ['muster cancel order-17 order-18'],
    'Exit code 1 if one of them could not be cancelled.',
  )
    .argument('<ids...>', 'ids of tasks')
    .action(runs<object, [string[]]>(cancel));

async function cancel(session: Session, ids: string[]): Promise<number> {
  const client = await session.client();
  const answer = await client.cancel(ids);
  session.out.answer(answer, () =>
    [
      `cancelled ${plural(answer.cancelled.length, 'task')}`,
      ...answer.notCancelled.map(({ id, state }) => `  not ${printable(id)}: ${state}`),
    ].join('\n'),
  );
  return answer.notCancelled.length > 0 ? EXIT.failed : EXIT.ok;
}
