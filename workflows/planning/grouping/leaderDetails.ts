import { some } from '../webUi/some';

/**
 * Formats what Temporal's Web UI shows of a leader, as of its last turn. Showing it costs no
 * Temporal action.
 */

/**
 * Counts of waiting work stop here and are shown as `1,000+`, so that counting takes at most a few
 * milliseconds.
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
  /** When a waiting leader looks again, in Unix milliseconds. */
  dueAtMs: number | null;
  heldBy: string | null;
  /** How many dispatches are in flight. */
  live: number;
  dispatch: { batches: number; tasks: number } | null;
  backlog: (Backlog & { atMs: number }) | null;
  /** Batches and tasks that this run has settled. */
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
    '',
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

const iso = (ms: number): string => new Date(ms).toISOString();
