/** What the Web UI shows of a leader, as of its last turn; it costs no Temporal action. */

/**
 * Where a count of waiting work stops: it costs a few milliseconds at most, and is shown as
 * `1,000+`.
 */
export const MOST_COUNTED = { targets: 1_000, tasks: 10_000 } as const;
export type Backlog = Record<keyof typeof MOST_COUNTED, number>;

export interface LeaderFacts {
  handler: string;
  name: string;
  nowMs: number;
  epoch: number;
  turn: number;
  next: 'idle' | 'working' | 'waiting';
  /** For a waiting leader: until when. */
  dueAtMs: number | null;
  heldBy: string | null;
  /** Dispatches in flight. */
  live: number;
  dispatch: { batches: number; tasks: number } | null;
  backlog: (Backlog & { atMs: number }) | null;
  /** Batches settled by this run. */
  batches: number;
  tasks: number;
  /** Flush reason of this run's newest batch. */
  lastReason: string | null;
}

/** Returns the details as Markdown. */
export const leaderDetails = (facts: LeaderFacts): string => {
  const { handler, name, nowMs, epoch, turn, next, dueAtMs, heldBy, live, dispatch, batches, tasks, lastReason } =
    facts;
  const looks = next === 'waiting' && dueAtMs !== null ? `looks again at ${iso(dueAtMs)}` : next;
  return [
    `**${handler}**, set \`${name}\`, as of ${iso(nowMs)}`,
    `- epoch ${epoch}, turn ${turn}; ${looks}${heldBy === null ? '' : `, held by ${heldBy}`}`,
    `- waiting: ${waiting(facts)}`,
    `- in flight: ${some(live, 'dispatch')}${dispatch === null || live === 0 ? '' : ` (last: ${some(dispatch.batches, 'batch')}, ${some(dispatch.tasks, 'task')})`}`,
    `- this run: ${some(batches, 'batch')}, ${some(tasks, 'task')}; last flush reason: ${lastReason ?? 'none yet'}`,
  ].join('\n');
};

const waiting = ({ next, backlog, nowMs }: LeaderFacts): string => {
  if (next === 'idle') return 'nothing';
  if (backlog === null) return 'not counted yet';
  const { targets, tasks, atMs } = backlog;
  const of = `${some(tasks, 'task', MOST_COUNTED.tasks)} of ${some(targets, 'target', MOST_COUNTED.targets)}`;
  return atMs === nowMs ? of : `${of} (counted ${iso(atMs)})`;
};

const some = (n: number, noun: string, most = Infinity): string =>
  `${n.toLocaleString('en-US')}${n >= most ? '+' : ''} ${n === 1 ? noun : noun.endsWith('ch') ? `${noun}es` : `${noun}s`}`;

const iso = (ms: number): string => new Date(ms).toISOString();
