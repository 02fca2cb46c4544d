import type { Command } from 'commander';
import { DAY_MS } from '../../../workflows/planning/duration';
import { PAGE_MAX } from '../../../workflows/planning/pages';
import type { ErrorList } from '../../views';
import { command, durationWithDefault, wholeOption } from '../support/command';
import { plural, printable } from '../support/output';
import type { Session } from '../support/session';
import { runs } from '../support/session';
import { timeAgo } from './timeAgo';

interface Options {
  since: number;
  limit: number;
}

export const errorsCommand = (): Command =>
  command(
    'errors',
    'Count the errors of tasks, batches and callbacks by what they have in common.',
    ['muster errors', 'muster errors orders --since 2h', 'muster errors --json'],
    'Numbers, ids, URLs, times and quoted texts are replaced, so that errors of one cause are one entry.\n' +
      'The newest 10,000 rows of each table are read; it says if there are more.',
  )
    .argument('[handler]')
    .addOption(durationWithDefault('--since <duration>', 'how far to look back', DAY_MS))
    .option('--limit <n>', 'maximum number of entries to list', wholeOption(1, PAGE_MAX), 20)
    .action(runs(errors));

async function errors(session: Session<Options>, handler?: string): Promise<void> {
  const { since, limit } = session.options;
  const client = await session.client();
  const found = await client.errors.list({
    ...(handler === undefined ? {} : { handler }),
    since: await timeAgo(client, since),
    limit,
  });
  session.out.answer(found, () => show(found));
}

const show = ({ errors: list, since, complete }: ErrorList): string => {
  if (list.length === 0) return `No errors since ${since}.`;
  const entries = list.map((one) => {
    const what = plural(one.count, one.of === 'callback' ? 'callback' : 'task');
    const example = [...one.tasks, ...one.callbacks].slice(0, 1).map((id) => `, such as ${id}`);
    return [
      `${one.handler ?? 'fan-outs'}: ${what} ${one.of === 'callback' ? 'not delivered' : one.of}`,
      `  ${one.text}`,
      `  ${one.first} to ${one.last}${example.join('')}`,
      `  ${one.list}`,
      ...(one.again === null ? [] : [`  ${one.again}`]),
    ]
      .map(printable)
      .join('\n');
  });
  const rest = complete ? [] : ['There are more: only the newest were counted.'];
  return [...entries, ...rest].join('\n\n');
};
