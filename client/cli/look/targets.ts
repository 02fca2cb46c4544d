import type { Command } from 'commander';
import { PAGE_MAX } from '../../../workflows/planning/pages';
import type { TargetStatus } from '../../views';
import { command, wholeOption } from '../support/command';
import { limitsText } from './limitsText';
import { duration, table } from '../support/output';
import type { Session } from '../support/session';
import { runs } from '../support/session';

interface Options {
  limit: number;
  after?: string;
}

export const targetsCommand = (): Command =>
  command(
    'targets',
    "List a handler's targets: waiting tasks, when they are due, and what blocks them.",
    ['muster targets orders', 'muster targets orders --limit 1000 --after "customer-17" --json'],
    'With --json: an array with one object per target, sorted by key.',
  )
    .argument('<handler>')
    .option('--limit <n>', 'maximum number of targets to list', wholeOption(1, PAGE_MAX), 100)
    .option('--after <key>', 'start after this target')
    .action(runs(targets));

async function targets(session: Session<Options>, handler: string): Promise<void> {
  const { limit, after } = session.options;
  const client = await session.client();
  const list = await client.targets(handler, { limit, ...(after === undefined ? {} : { after }) });
  session.out.answer(list, () => show(list, limit));
}

const show = (list: readonly TargetStatus[], limit: number): string => {
  if (list.length === 0) return 'No targets yet: the first task of a target creates it.';
  const head = ['target', 'queued', 'delayed', 'in flight', 'unknown', 'due in', 'last flush', 'leader', ''];
  const rows = list.map((target) => [
    target.key,
    target.queued,
    target.delayed,
    target.inFlight,
    target.unknown,
    target.dueInMs === null ? '-' : target.dueInMs <= 0 ? 'now' : duration(target.dueInMs),
    target.lastFlushReason,
    target.leader,
    remark(target),
  ]);
  const more = list.length === limit ? `\nShowing ${limit}; for more: --after ${JSON.stringify(list.at(-1)!.key)}` : '';
  return `${table(head, rows)}${more}`;
};

const remark = ({ paused, busy, holdInMs, overrides, limitsSet }: TargetStatus): string =>
  [
    paused === null ? '' : `paused: ${paused.reason ?? 'no reason given'}`,
    busy ? 'busy: its calls in flight are at the limit' : '',
    holdInMs === null ? '' : `held for ${duration(holdInMs)}`,
    overrides === null
      ? ''
      : Object.entries(overrides)
          .map(([name, value]) => `${name} ${value}`)
          .join(', '),
    limitsSet.length === 0 ? '' : limitsText(limitsSet),
  ]
    .filter((text) => text !== '')
    .join('; ');
