import type { Command } from 'commander';
import { MusterError } from '../../errors';
import { command, wholeOption } from '../support/command';
import { EXIT } from '../support/exitCodes';
import { plural, printable } from '../support/output';
import type { Session } from '../support/session';
import { runs } from '../support/session';

interface Options {
  batch?: number;
}

export const cancelCommand = (): Command =>
  command(
    'cancel',
    'Cancel waiting tasks, an unsent lane batch, or a batch that the downstream accepted; running calls continue.',
    ['muster cancel order-17 order-18', 'muster cancel --batch 81'],
    'Exit code 1 if a task could not be cancelled. A lane batch can also be cancelled while waiting ' +
      'for a retry: its lane continues, and its dependents fail without being sent. An accepted batch ' +
      'is cancelled by the downstream: `muster batch` shows its cancellation.',
  )
    .argument('[ids...]', 'ids of tasks')
    .option(
      '--batch <n>',
      'cancel a lane batch or an accepted batch, with its tasks',
      wholeOption(1, Number.MAX_SAFE_INTEGER),
    )
    .action(runs<Options, [string[]]>(cancel));

async function cancel(session: Session<Options>, ids: string[]): Promise<number> {
  const { batch } = session.options;
  if ((batch === undefined) === (ids.length === 0))
    throw new MusterError('INVALID_ARGUMENT', 'expected either task ids or --batch');
  const client = await session.client();
  if (batch !== undefined) {
    const ended = await client.cancelBatch(batch);
    const lane = ended.service === null ? '' : ` of lane ${printable(ended.service)}`;
    session.out.answer(ended, () => {
      if (ended.cancellation !== undefined)
        return `batch ${batch}${lane} is with the downstream; its cancellation: ${ended.cancellation} (see \`muster batch ${batch}\`)`;
      if (ended.tasks.length === 0) return `batch ${batch}${lane} had already been cancelled`;
      return `cancelled batch ${batch}${lane}: ${plural(ended.tasks.length, 'task')}`;
    });
    return EXIT.ok;
  }
  const answer = await client.cancel(ids);
  session.out.answer(answer, () =>
    [
      `cancelled ${plural(answer.cancelled.length, 'task')}`,
      ...answer.notCancelled.map(
        ({ id, state, why }) => `  not ${printable(id)}: ${state}${why === undefined ? '' : `, ${printable(why)}`}`,
      ),
    ].join('\n'),
  );
  return answer.notCancelled.length > 0 ? EXIT.failed : EXIT.ok;
}
