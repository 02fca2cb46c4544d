import { Option } from 'commander';
import type { Command } from 'commander';
import { BATCH_STATES } from '../../../workflows/planning/states';
import type { BatchState } from '../../../workflows/planning/states';
import type { BatchPage } from '../../views';
import { command, wholeOption } from '../support/command';
import { shortened, table } from '../support/output';
import { allPages, MOST_LISTED } from '../support/pages';
import type { Session } from '../support/session';
import { runs } from '../support/session';

interface Options {
  state?: BatchState;
  error?: string;
  limit: number;
  after?: string;
}

export const batchesCommand = (): Command =>
  command(
    'batches',
    'List the batches of a handler, in any state or in one.',
    [
      'muster batches orders',
      'muster batches orders customer-17 --state failed',
      'muster batches orders --state unknown',
    ],
    'The newest come first; those that are open or unknown, of the whole handler, by target.\n' +
      'With --json: an object with `batches`, and `next` for --after (null: that was all).',
  )
    .argument('<handler>')
    .argument('[target]')
    .addOption(new Option('--state <state>', 'only batches in this state').choices(Object.keys(BATCH_STATES)))
    .option('--error <text>', 'only batches whose error contains this text')
    .option('--limit <n>', 'maximum number of batches to list', wholeOption(1, MOST_LISTED), 100)
    .option('--after <next>', 'start after the last page')
    .action(runs(batches));

async function batches(session: Session<Options>, handler: string, target?: string): Promise<void> {
  const { state, error, limit, after } = session.options;
  const client = await session.client();
  const given = {
    ...(target === undefined ? {} : { target }),
    ...(state === undefined ? {} : { state }),
    ...(error === undefined ? {} : { error }),
  };
  const found = await allPages({ limit, after }, async (page) => {
    const { batches: entries, next } = await client.batches.list(handler, { ...given, ...page });
    return { entries, next };
  });
  const answer: BatchPage = { batches: found.entries, next: found.next };
  session.out.answer(answer, () => show(answer, limit));
}

const HEAD = ['batch', 'target', 'state', 'closed by', 'tasks', 'left', 'attempts', 'formed', 'ended', 'error'];

const show = ({ batches: list, next }: BatchPage, limit: number): string => {
  if (list.length === 0) return 'No such batches.';
  const rows = list.map((batch) => [
    batch.id,
    batch.target,
    batch.state,
    batch.reason,
    batch.n,
    batch.left,
    batch.attempts,
    batch.createdAt,
    batch.finishedAt,
    batch.error === null ? null : shortened(batch.error),
  ]);
  const more = next === null ? '' : `\nShowing ${limit}; for more: --after ${next}`;
  return `${table(HEAD, rows)}${more}`;
};
