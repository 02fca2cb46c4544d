import { Option } from 'commander';
import type { Command } from 'commander';
import type { CallbackState, UndeliveredCallback } from '../../views';
import { CALLBACK_STATES } from '../../../workflows/planning/callbacks/undelivered';
import { command, wholeOption } from '../support/command';
import { plural, shortened, table } from '../support/output';
import { allPages, MOST_LISTED } from '../support/pages';
import type { Session } from '../support/session';
import { runs } from '../support/session';

interface Chosen {
  handler?: string;
  state?: CallbackState;
}
interface Options extends Chosen {
  limit?: number;
  after?: string;
}

const stateOption = (text: string): Option => new Option('--state <state>', text).choices(CALLBACK_STATES);
const LISTED = 100;
const numbers = (text: string, before: number[] = []): number[] => [...before, wholeOption(1)(text)];
// The options of both commands have no defaults: those of `callbacks` are read for `send`, too.
const HANDLER = ['--handler <name>', 'only callbacks of this handler'] as const;

export const callbacksCommand = (): Command => {
  const callbacks = command(
    'callbacks',
    'List callbacks that were tried and not delivered, or send them again.',
    ['muster callbacks', 'muster callbacks --handler orders --state given-up', 'muster callbacks send 17 18'],
    'With --json: an object with `callbacks`, and `next` for --after (null: that was all).',
  )
    .option(...HANDLER)
    .addOption(stateOption('only callbacks in this state'))
    .option('--limit <n>', 'maximum number of callbacks to list; default: 100', wholeOption(1, MOST_LISTED))
    .option('--after <next>', 'start after the last page')
    .action(runs(listed));
  callbacks.addCommand(
    command(
      'send',
      'Send callbacks again that were not delivered.',
      ['muster callbacks send 17 18', 'muster callbacks send --handler orders', 'muster callbacks send'],
      'Without ids: those that were given up. They are due at once, under the same message ids.',
    )
      .argument('[ids...]', 'their numbers; default: all that match', numbers)
      .option(...HANDLER)
      .addOption(stateOption('those in this state; default: given-up'))
      .option('--limit <n>', 'maximum number of callbacks to send', wholeOption(1, 1_000_000_000))
      .action(runs(send)),
  );
  return callbacks;
};

const chosen = ({ handler, state }: Chosen): Chosen => ({
  ...(handler === undefined ? {} : { handler }),
  ...(state === undefined ? {} : { state }),
});

async function listed(session: Session<Options>): Promise<void> {
  const { limit = LISTED, after } = session.options;
  const client = await session.client();
  const found = await allPages({ limit, after }, async (page) => {
    const { callbacks, next } = await client.callbacks.list({ ...chosen(session.options), ...page });
    return { entries: callbacks, next };
  });
  const more = found.next === null ? '' : `\nShowing ${limit}; for more: --after ${found.next}`;
  session.out.answer({ callbacks: found.entries, next: found.next }, () => `${show(found.entries)}${more}`);
}

const show = (list: readonly UndeliveredCallback[]): string => {
  if (list.length === 0) return 'No such callbacks.';
  const rows = list.map(({ id, state, handler, batch, fanout, to, attempts, nextAt, error }) => [
    id,
    state,
    handler ?? `fan-out ${fanout ?? ''}`,
    batch,
    'url' in to ? to.url : `workflow ${to.workflowId}`,
    attempts,
    nextAt,
    shortened(error),
  ]);
  return table(['callback', 'state', 'of', 'batch', 'to', 'tries', 'next', 'error'], rows);
};

async function send(session: Session<Chosen & { limit?: number }>, ids: readonly number[] = []): Promise<void> {
  const { limit } = session.options;
  const client = await session.client();
  const answer = await client.callbacks.send({
    ...chosen(session.options),
    ...(limit === undefined ? {} : { limit }),
    ...(ids.length === 0 ? {} : { ids }),
  });
  session.out.answer(answer, () => `${plural(answer.sent, 'callback')} due again`);
}
