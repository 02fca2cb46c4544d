import type { Command } from 'commander';
import { command, wholeOption } from '../support/command';
import { EXIT } from '../support/exitCodes';
import { allPages, MOST_LISTED } from '../support/pages';
import type { Session } from '../support/session';
import { runs } from '../support/session';
import { followed, foundBulk } from './follow';
import { describeBulk, listBulkText } from './text';

interface ListOptions {
  handler?: string;
  open?: boolean;
  limit: number;
  after?: string;
}
export const listCommand = (): Command =>
  command(
    'list',
    'List bulk actions, newest first.',
    ['muster bulk list', 'muster bulk list --open --json'],
    'With --json: an object with `actions`, and `next` for --after (null: that was all).',
  )
    .option('--handler <name>', 'only those on tasks of this handler')
    .option('--open', 'only those that have not ended')
    .option('--limit <n>', 'maximum number to list', wholeOption(1, MOST_LISTED), 20)
    .option('--after <next>', 'start after the last page')
    .action(
      runs(async (session: Session<ListOptions>) => {
        const { handler, open = false, limit, after } = session.options;
        const client = await session.client();
        const { entries: actions, next } = await allPages({ limit, after }, async (page) => {
          const found = await client.bulk.list({ open, ...(handler === undefined ? {} : { handler }), ...page });
          return { entries: found.actions, next: found.next };
        });
        const more = next === null ? '' : `\nShowing ${limit}; for more: --after ${next}`;
        session.out.answer({ actions, next }, () =>
          actions.length === 0 ? 'No bulk actions.' : `${listBulkText(actions)}${more}`,
        );
      }),
    );

export const showCommand = (): Command =>
  command(
    'show',
    'Show a bulk action: what it does, how far it is, who started it.',
    ['muster bulk show $ID', 'muster bulk show $ID --follow'],
    'With --follow, exit code 1 if it was stopped, or could not change some of the tasks.',
  )
    .argument('<bulk>', 'id of the bulk action')
    .option('--follow', 'wait for its end, with a progress bar on a terminal')
    .action(
      runs(async (session: Session<{ follow?: boolean }>, id: string) => {
        const client = await session.client();
        const isFollowed = session.options.follow === true;
        const view = isFollowed ? await followed(client, id, session.out) : await foundBulk(client, id);
        session.out.answer(view, () => describeBulk(view));
        return isFollowed && (view.state !== 'done' || view.failed > 0) ? EXIT.failed : EXIT.ok;
      }),
    );

export const stopCommand = (): Command =>
  command('stop', 'Stop a bulk action; what it has changed stays so.', ['muster bulk stop $ID'])
    .argument('<bulk>', 'id of the bulk action')
    .action(
      runs(async (session: Session, id: string) => {
        const view = await (await session.client()).bulk.stop(id);
        session.out.answer(view, () => describeBulk(view));
      }),
    );
