import { Option } from 'commander';
import type { Command } from 'commander';
import type { TimeOrder } from '../../../workflows/planning/pages';
import { TIME_ORDERS } from '../../../workflows/planning/pages';
import { TASK_STATES } from '../../../workflows/planning/states';
import type { TaskState } from '../../../workflows/planning/states';
import { MusterError } from '../../errors';
import type { TaskPage } from '../../views';
import { command, durationOption, wholeOption } from '../support/command';
import { shortened, table } from '../support/output';
import { allPages, MOST_LISTED } from '../support/pages';
import type { Session } from '../support/session';
import { runs } from '../support/session';
import { timeAgo } from './timeAgo';

interface Options {
  state?: TaskState;
  tag?: string;
  order?: TimeOrder;
  error?: string;
  since?: number;
  until?: number;
  limit: number;
  after?: string;
  ids: boolean;
}

export const tasksCommand = (): Command =>
  command(
    'tasks',
    'List the tasks of a handler, or of all, that are in one state or have a tag.',
    [
      'muster tasks orders --state dead',
      'muster tasks --state failed --since 2h',
      'muster tasks --tag order-17',
      'muster tasks orders --state created --order oldest --limit 5',
      'muster tasks orders --state created --until 1h --order oldest',
      'muster tasks orders customer-17 --state created --limit 20',
      'muster tasks orders --state created --ids | xargs muster cancel',
    ],
    'Give --state, --tag, or both. Tasks that have ended come newest first, and so do those with a tag;\n' +
      'all others by target, as they will be sent. --since and --until go by the end of tasks that have ended;\n' +
      'of all others, and with --tag alone, by when they were accepted: waiting ones come newest first then.\n' +
      'With --json: an object with `tasks`, and `next` for --after (null: that was all).',
  )
    .argument('[handler]', 'default: all, of tasks that have ended or with --tag')
    .argument('[target]')
    .addOption(new Option('--state <state>', 'only tasks in this state').choices(Object.keys(TASK_STATES)))
    .option('--tag <tag>', 'only tasks that were submitted with this tag')
    .addOption(new Option('--order <order>', 'with --state created: over all targets').choices(TIME_ORDERS))
    .option('--error <text>', 'only tasks whose error contains this text')
    .option('--since <duration>', 'only tasks that ended, or were accepted, within this time', durationOption)
    .option('--until <duration>', 'only tasks that ended, or were accepted, before this time ago', durationOption)
    .option('--limit <n>', 'maximum number of tasks to list', wholeOption(1, MOST_LISTED), 100)
    .option('--after <next>', 'start after the last page')
    .option('--ids', 'print only ids, one per line', false)
    .action(runs(tasks));

async function tasks(session: Session<Options>, handler?: string, target?: string): Promise<void> {
  const { limit, ids, state } = session.options;
  const found = await read(session, handler, target);
  if (ids) return session.out.piece(found.tasks.map(({ id }) => `${id}\n`).join(''));
  session.out.answer(found, () => show(found, limit, state !== undefined));
}

const read = async (session: Session<Options>, handler: string | undefined, target?: string): Promise<TaskPage> => {
  const { state, tag, order, error, since, until, limit, after } = session.options;
  if (state === undefined && tag === undefined)
    throw new MusterError('INVALID_ARGUMENT', '--state: expected a state, or --tag, got nothing. Give one of them.');
  const client = await session.client();
  const wanted = {
    ...(state === undefined ? {} : { state }),
    ...(tag === undefined ? {} : { tag }),
    ...(order === undefined ? {} : { order }),
    ...(target === undefined ? {} : { target }),
    ...(error === undefined ? {} : { error }),
    ...(since === undefined ? {} : { since: await timeAgo(client, since) }),
    ...(until === undefined ? {} : { until: await timeAgo(client, until) }),
  };
  const { entries, next } = await allPages({ limit, after }, async (page) => {
    const found = await client.tasks.list(handler ?? null, { ...wanted, ...page });
    return { entries: found.tasks, next: found.next };
  });
  return { tasks: entries, next };
};

const show = ({ tasks: list, next }: TaskPage, limit: number, isOfState: boolean): string => {
  if (list.length === 0) return 'No such tasks.';
  const expires = list.some(({ expiresAt }) => expiresAt !== undefined);
  const head = [
    'id',
    'handler',
    'target',
    ...(isOfState ? [] : ['state']),
    'attempts',
    'batch',
    'submitted',
    ...(expires ? ['expires'] : []),
    'ended',
    'error',
  ];
  const rows = list.map((task) => [
    task.id,
    task.handler,
    task.target,
    ...(isOfState ? [] : [task.state]),
    task.attempts,
    task.batch,
    task.createdAt,
    ...(expires ? [task.expiresAt] : []),
    task.finishedAt,
    task.error === null || task.error === undefined ? null : shortened(task.error),
  ]);
  const more = next === null ? '' : `\nShowing ${limit}; for more: --after ${next}`;
  return `${table(head, rows)}${more}`;
};
