import type { Command } from 'commander';
import type { HandlerStatus } from '../../views';
import { command } from '../support/command';
import { limitsText } from './limitsText';
import { duration, fields, table } from '../support/output';
import type { Session } from '../support/session';
import { runs } from '../support/session';

export const statusCommand = (): Command =>
  command(
    'status',
    'Show waiting, running and ended tasks per handler.',
    ['muster status', 'muster status orders', 'muster status --json | jq ".[].counts"'],
    'With --json: an array with one object per handler.',
  )
    .argument('[handler]', 'show only this handler, with its leaders')
    .option('--exact', 'count large tables exactly: seconds per million rows')
    .action(runs(status));

async function status(session: Session<{ exact?: boolean }>, handler?: string): Promise<void> {
  const client = await session.client();
  const list = await client.status(handler, session.options);
  session.out.answer(list, () => (handler !== undefined && list[0] !== undefined ? one(list[0]) : overview(list)));
}

const overview = (list: readonly HandlerStatus[]): string => {
  if (list.length === 0) return 'No handler is registered yet: start a worker, or submit a task.';
  const rows = list.map(({ handler, counts, oldestQueuedMs, inFlightCalls, ...rest }) => [
    handler,
    counts.created,
    counts.batched + counts['in-progress'],
    counts.unknown,
    counts.succeeded,
    counts.failed,
    counts.dead,
    counts.cancelled,
    oldestQueuedMs === null ? '-' : duration(oldestQueuedMs),
    inFlightCalls,
    remark({ handler, counts, oldestQueuedMs, inFlightCalls, ...rest }),
  ]);
  const head = [
    'handler',
    'created',
    'in batches',
    'unknown',
    'succeeded',
    'failed',
    'dead',
    'cancelled',
    'oldest',
    'calls',
    '',
  ];
  return table(head, rows);
};

export const remark = (status: HandlerStatus): string => {
  const { paused, holdUntil, held, served, partitions, identityHolds, estimated, stalled, limitsSet } = status;
  return [
    paused === null ? '' : `paused: ${paused.reason ?? 'no reason given'}`,
    holdUntil === null ? '' : `held until ${holdUntil}`,
    held === 0 ? '' : `waiting for other tasks: ${held}`,
    served ? '' : 'no live worker serves it',
    partitions === null || partitions.held === partitions.n
      ? ''
      : `${partitions.n - partitions.held} of ${partitions.n} partitions have no node`,
    limitsSet.length === 0 ? '' : limitsText(limitsSet),
    stalled.length === 0 ? '' : stalledText(stalled[0]!, stalled.length - 1),
    estimated ? 'counts of large tables are estimated from a sample (use --exact)' : '',
    identityHolds === false ? 'COUNTS DO NOT ADD UP: run muster verify' : '',
  ]
    .filter((text) => text !== '')
    .join('; ');
};

const stalledText = ({ kind, name, ms, workflowId }: HandlerStatus['stalled'][number], others: number): string => {
  const ofBatch = kind === 'dispatch' || kind === 'read';
  const who = kind === name ? `the ${kind}` : `${kind} ${ofBatch ? `of batch ${name}` : name}`;
  const more = others === 0 ? '' : `, and ${others} more`;
  return `STALLED: ${who} ${whyStalled(kind, ms)}${more} (workflow ${workflowId})`;
};

const whyStalled = (kind: HandlerStatus['stalled'][number]['kind'], ms: number): string => {
  if (kind === 'read') return `has brought no result for ${duration(ms)}`;
  return kind === 'leader' || kind === 'queuer'
    ? `was woken ${duration(ms)} ago and has taken no turn`
    : `has overdue work, due for ${duration(ms)}`;
};

const one = (status: HandlerStatus): string => {
  const { handler, counts, accepted, oldestQueuedMs, inFlightCalls, leaders, flushReasons } = status;
  const facts = fields([
    ['handler', handler],
    ['accepted', accepted],
    ...Object.entries(counts).map(([state, n]) => [`  ${state}`, n] as const),
    ['oldest waits', oldestQueuedMs === null ? null : duration(oldestQueuedMs)],
    ['calls in flight', inFlightCalls],
    [
      'closed by',
      Object.entries(flushReasons)
        .map(([reason, n]) => `${reason} ${n}`)
        .join(', '),
    ],
    ['shares the limit', status.sharesLimit],
    ['partitions held', status.partitions === null ? null : `${status.partitions.held} of ${status.partitions.n}`],
    ['note', remark(status)],
  ]);
  const rows = leaders.map(({ name, state, epoch, wakeInMs, expiresInMs, unansweredMs }) => [
    name,
    state,
    epoch,
    wakeInMs === null ? '-' : duration(wakeInMs),
    expiresInMs === null ? '-' : duration(expiresInMs),
    unansweredMs === null ? '-' : duration(unansweredMs),
  ]);
  return leaders.length === 0
    ? facts
    : `${facts}\n${table(['leader', 'state', 'epoch', 'looks in', 'lease ends in', 'unanswered for'], rows)}`;
};
