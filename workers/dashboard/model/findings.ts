import type { Overview, OverviewHandler } from '../../../workflows/contracts/dashboard';
import type { Finding } from './finding';
import { resume } from './actions';
import { skewed } from './clockSkew';
import { counted, duration, number } from './format';
import { resumeLanes } from './moreActions';
import { openFor } from './openTransaction';
import { hrefOf } from './place';

/** Beyond its linger, a task waits this long for no visible reason before that is a finding. */
const LATE_MS = 60_000;

const ofHandler = (handler: OverviewHandler): Finding[] => [
  ...stopped(handler),
  ...limited(handler),
  ...stuck(handler),
  ...unread(handler),
  ...again(handler),
  ...ended(handler),
];

const reasonOf = (reason: string | null): string => (reason === null ? 'No reason was given.' : `Reason: ${reason}.`);
const waitingOf = ({ counts }: OverviewHandler): number => counts.created;

/** Nothing is sent, because an operator or a missing worker stops it. */
const stopped = (handler: OverviewHandler): Finding[] => {
  const { handler: name, paused, served } = handler;
  const href = hrefOf(['handlers', name]);
  const waiting = waitingOf(handler);
  const found: Finding[] = [];
  if (paused !== null)
    found.push({
      level: 'bad',
      what: `${name} is paused: ${counted(waiting, 'task')} waiting`,
      why: reasonOf(paused.reason),
      next: 'Resume it once the reason is gone.',
      href,
      action: resume(name, null),
    });
  if (!served && waiting > 0)
    found.push({
      level: 'bad',
      what: `${name} has no worker: ${counted(waiting, 'task')} waiting`,
      why: 'No live worker has this handler in its config file.',
      next: 'Start a worker with it: muster worker.',
      href,
    });
  return found;
};

const again = ({ handler: name, retrying }: OverviewHandler): Finding[] =>
  retrying === null
    ? []
    : [
        {
          level: 'warn',
          what: `${name}: ${counted(retrying.tasks, 'task')} to be tried again`,
          why: `The last error: ${cut(retrying.error)}.`,
          next: 'It goes on by itself; see the errors if it does not.',
          href: hrefOf(['errors'], { handler: name }),
        },
      ];

/** What a line of the page holds. */
const LONGEST_ERROR = 200;
const cut = (text: string): string => (text.length > LONGEST_ERROR ? `${text.slice(0, LONGEST_ERROR)}...` : text);

/** What an operator has paused and may have forgotten, and what takes no more. */
const limited = ({ handler: name, pausedTargets, counts, limits: { mostQueued } }: OverviewHandler): Finding[] => [
  ...(pausedTargets > 0
    ? [
        {
          level: 'warn' as const,
          what: `${name}: ${counted(pausedTargets, 'target')} paused`,
          why: 'An operator paused them one by one: their tasks wait.',
          next: 'Resume them once the reason is gone.',
          href: hrefOf(['handlers', name]),
        },
      ]
    : []),
  ...(mostQueued !== null && counts.created >= mostQueued
    ? [
        {
          level: 'bad' as const,
          what: `${name} takes no more tasks: ${number(counts.created)} wait, and ${number(mostQueued)} may`,
          why: 'Its backlog is full (maxQueued): submits are refused.',
          next: 'See why so few are sent; else raise maxQueued.perHandler.',
          href: hrefOf(['handlers', name]),
        },
      ]
    : []),
];

const stuck = (handler: OverviewHandler): Finding[] => {
  const { handler: name, stalled, partitions, paused, holdUntil, oldestQueuedMs, limits, served } = handler;
  const href = hrefOf(['handlers', name]);
  const [worst, ...others] = stalled.filter(({ kind }) => kind !== 'read').sort((a, b) => b.ms - a.ms);
  if (worst !== undefined)
    return [
      {
        level: 'bad',
        what: `${name}: ${counted(others.length + 1, 'workflow')} stalled`,
        why: `The ${worst.kind} ${worst.name} has made no progress for ${duration(worst.ms)}.`,
        next: 'See whether workers run and reach Temporal: muster doctor.',
        href,
      },
    ];
  if (partitions !== null && partitions.held < partitions.n && waitingOf(handler) > 0)
    return [
      {
        level: 'warn',
        what: `${name}: ${partitions.n - partitions.held} of ${partitions.n} partitions have no node`,
        why: 'Their targets are not served until a node takes them.',
        next: 'See which nodes are alive.',
        href: hrefOf(['nodes']),
      },
    ];
  const lateMs = (oldestQueuedMs ?? 0) - limits.lingerMs;
  if (paused !== null || !served || lateMs < LATE_MS) return [];
  return [{ level: 'warn', ...lateness(handler, lateMs, holdUntil), href }];
};

const unread = ({ handler: name, stalled }: OverviewHandler): Finding[] => {
  const [read, ...others] = stalled.filter(({ kind }) => kind === 'read').sort((a, b) => b.ms - a.ms);
  if (read === undefined) return [];
  return [
    {
      level: 'warn',
      what: `${name}: the results of ${counted(others.length + 1, 'batch', 'batches')} do not come`,
      why: `The read of those of batch ${read.name} has brought none for ${duration(read.ms)}.`,
      next: 'Check the downstream; the read is repeated after poll.idleMs without a result.',
      href: hrefOf(['batches', read.name]),
    },
  ];
};

const lateness = (
  { handler: name, limits }: OverviewHandler,
  lateMs: number,
  holdUntil: string | null,
): Pick<Finding, 'what' | 'why' | 'next'> => {
  const what = `${name} is behind: the oldest task is ${duration(lateMs)} late`;
  const most = Math.min(limits.perHandler, limits.allowed ?? Infinity);
  if (holdUntil !== null)
    return { what, why: 'The downstream asked to wait.', next: 'It goes on by itself when the hold ends.' };
  const reduced = most < limits.perHandler ? ', fewer than configured: back pressure' : '';
  if (limits.slots >= most)
    return {
      what,
      why: `All ${number(most)} calls that it may make at once are in flight${reduced}.`,
      next: 'See whether the downstream is slow; else raise concurrency.perHandler.',
    };
  return {
    what,
    why: 'Some target is paused, held, or at its own limit.',
    next: 'See its targets, or explain the task.',
  };
};

const ended = ({ handler: name, counts }: OverviewHandler): Finding[] => {
  const at = (state: string): string => hrefOf(['handlers', name, 'tasks'], { state });
  const found: Finding[] = [];
  if (counts.unknown > 0)
    found.push({
      level: 'warn',
      what: `${name}: ${counted(counts.unknown, 'task')} parked`,
      why: 'It is not known whether the downstream did them.',
      next: 'Look there, then resolve them.',
      href: at('unknown'),
    });
  for (const state of ['dead', 'failed'] as const)
    if (counts[state] > 0)
      found.push({
        level: 'warn',
        what: `${name}: ${counted(counts[state], 'task')} ${state}`,
        why: state === 'dead' ? 'All attempts were used up.' : 'The downstream refused them for good.',
        next: 'Read the errors; redrive them once the cause is gone.',
        href: at(state),
      });
  return found;
};

const ofLanes = ({ queuers }: Overview): Finding[] =>
  (queuers ?? []).flatMap(({ paused, reason, lanes, halted, pausedLanes }) => [
    ...(paused
      ? [
          {
            level: 'bad' as const,
            what: lanes === 1 ? 'The only lane is paused' : `All ${counted(lanes, 'lane')} are paused`,
            why: reasonOf(reason),
            next: 'Resume them once the reason is gone.',
            href: hrefOf(['lanes']),
            action: resumeLanes(lanes),
          },
        ]
      : []),
    ...(halted > 0
      ? [
          {
            level: 'bad' as const,
            what: `${counted(halted, 'lane')} halted`,
            why: 'A batch with an unknown or refused outcome stops what is behind it.',
            next: 'Decide about that batch.',
            href: hrefOf(['lanes']),
          },
        ]
      : []),
    ...(pausedLanes > 0
      ? [
          {
            level: 'warn' as const,
            what: `${counted(pausedLanes, 'lane')} paused`,
            why: 'An operator paused them.',
            next: 'Resume them once the reason is gone.',
            href: hrefOf(['lanes']),
          },
        ]
      : []),
  ]);

const ofNodes = ({ nodes, handlers }: Overview): Finding[] =>
  nodes !== null && nodes.alive === 0 && handlers.length > 0
    ? [
        {
          level: 'bad',
          what: 'No worker runs',
          why: 'No worker process was seen in the last 30 s.',
          next: 'Start one: muster worker.',
          href: hrefOf(['nodes']),
        },
      ]
    : [];

const ofBeside = ({ beside }: Overview): Finding[] => {
  if (beside === null) return [];
  const { executionsWithoutNodes: n, retriedCallbacks: retried, lostCallbacks: lost, oldestTransaction } = beside;
  const found: Finding[] = skewed(beside.clockSkewMs);
  if (oldestTransaction !== null) found.push(...openFor(oldestTransaction));
  if (n > 0)
    found.push({
      level: 'bad',
      what: `${counted(n, 'execution')} without a node`,
      why: 'No live worker has the function, topic or attributes that they ask for.',
      next: 'Start a worker that has, or cancel them.',
      href: hrefOf(['executions']),
    });
  if (retried + lost > 0)
    found.push({
      level: 'warn',
      what: `${counted(retried + lost, 'callback')} not delivered`,
      why: `${number(retried)} are tried again, ${number(lost)} were given up.`,
      next: 'See their errors; send them again once the receiver takes them.',
      href: hrefOf(['callbacks']),
    });
  return found;
};

/** Returns what is wrong, the worst first. Empty: all is well. */
export const findingsOf = (overview: Overview): Finding[] => {
  const all = [
    ...ofNodes(overview),
    ...overview.handlers.flatMap(ofHandler),
    ...ofLanes(overview),
    ...ofBeside(overview),
  ];
  return [...all.filter(({ level }) => level === 'bad'), ...all.filter(({ level }) => level === 'warn')];
};

export interface Standing {
  word: 'running' | 'idle' | 'paused' | 'held' | 'not served' | 'stalled';
  level: 'good' | 'bad' | 'warn' | 'calm';
  why: string;
}

/** Returns the one word for a handler, and why. */
export const standingOf = (handler: OverviewHandler, now: number): Standing => {
  const { paused, holdUntil, served, inFlightCalls } = handler;
  const stalled = handler.stalled.filter(({ kind }) => kind !== 'read'); // a slow downstream
  if (stalled.length > 0)
    return { word: 'stalled', level: 'bad', why: stalled.map(({ kind, name }) => `${kind} ${name}`).join(', ') };
  if (paused !== null) return { word: 'paused', level: 'bad', why: paused.reason ?? '' };
  const waiting = waitingOf(handler);
  if (!served) return { word: 'not served', level: waiting > 0 ? 'bad' : 'calm', why: 'no live worker has it' };
  if (holdUntil !== null)
    return {
      word: 'held',
      level: 'warn',
      why: `back pressure, ${duration(Math.max(0, Date.parse(holdUntil) - now))} left`,
    };
  return inFlightCalls > 0 || waiting > 0
    ? { word: 'running', level: 'good', why: '' }
    : { word: 'idle', level: 'calm', why: '' };
};
