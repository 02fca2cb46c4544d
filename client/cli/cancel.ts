import type { Command } from 'commander';
import { MusterError } from '../errors';
import { command, wholeOption } from './support/command';
import { EXIT } from './support/exitCodes';
import { plural, printable } from './support/output';
import type { Session } from './support/session';
import { runs } from './support/session';

interface Options {
  batch?: number;
}

export const cancelCommand = (): Command =>
  command(
    'cancel',
    'Cancel tasks that are still waiting, or a batch of a lane that was not sent; what is in a call goes on.',
    ['muster cancel order-17 order-18', 'muster cancel --batch 81'],
    'Exit code 1 if one of them could not be cancelled. A batch of a lane also while it waits for its next try; its lane goes on, and what depends on it fails unsent.',
  )
    .argument('[ids...]', 'ids of tasks')
    .option('--batch <n>', 'a batch of a lane, with all its tasks', wholeOption(1, Number.MAX_SAFE_INTEGER))
    .action(runs<Options, [string[]]>(cancel));

async function cancel(session: Session<Options>, ids: string[]): Promise<number> {
  const { batch } = session.options;
  if ((batch === undefined) === (ids.length === 0))
    throw new MusterError('INVALID_ARGUMENT', 'expected ids of tasks or --batch, one of the two');
  const client = await session.client();
  if (batch !== undefined) {
    const ended = await client.cancelBatch(batch);
    session.out.answer(ended, () =>
      ended.tasks.length === 0
        ? `batch ${batch} of lane ${printable(ended.service)} was cancelled before`
        : `cancelled batch ${batch} of lane ${printable(ended.service)}: ${plural(ended.tasks.length, 'task')}`,
    );
    return EXIT.ok;
  }
  const answer = await client.cancel(ids);
  session.out.answer(answer, () =>
    [
      `cancelled ${plural(answer.cancelled.length, 'task')}`,
      ...answer.notCancelled.map(({ id, state, why }) => `  not ${printable(id)}: ${state}${why === undefined ? '' : `, ${printable(why)}`}`), // prettier-ignore
    ].join('\n'),
  );
  return answer.notCancelled.length > 0 ? EXIT.failed : EXIT.ok;
}
