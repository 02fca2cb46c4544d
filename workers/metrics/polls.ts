import { formatDuration } from '../../workflows/planning/duration';
import {
  POLL_BROKEN_MS,
  POLL_HANGS_MS,
  POLL_MS,
  POLL_NEXT_MS,
  POLL_REFUSED_MS,
  POLL_RETRY_MS,
} from '../../workflows/planning/liveness';

/**
 * Decides from the SDK's counters whether the polls of a worker come back. Pure: readings and
 * clocks are passed in.
 */

export type PollKind = 'workflow' | 'activities';

/** The counters of one task queue and kind, all since the process began. */
export interface PollCounts {
  queue: string;
  kind: PollKind;
  /** Requests begun, and those that came back in any way. */
  started: number;
  returned: number;
  /** Those that the server answered: with a task, or after its minute without one. */
  answered: number;
  /** Workflow tasks that failed, and all that ended. */
  tasksFailed: number;
  tasksEnded: number;
}

type Counter = Exclude<keyof PollCounts, 'queue' | 'kind'>;

/**
 * The counters. Only answers count: the SDK counts a poll that a server refuses by its limits as
 * one that came back, and not as a failure, and `Worker.getStatus()` says POLLING while the server
 * is stopped or gone.
 */
const COUNTERS: readonly [RegExp, Counter, PollKind | null][] = [
  [/^temporal_long_request(_total)?$/, 'started', null],
  [/^temporal_long_request_latency(_seconds|_milliseconds)?_count$/, 'returned', null],
  [/^temporal_workflow_task_queue_poll_(empty|succeed)(_total)?$/, 'answered', 'workflow'],
  [/^temporal_activity_(poll_no_task|task_received)(_total)?$/, 'answered', 'activities'],
  [/^temporal_workflow_task_execution_failed(_total)?$/, 'tasksFailed', 'workflow'],
  [/^temporal_workflow_task_execution_latency(_seconds|_milliseconds)?_count$/, 'tasksEnded', 'workflow'],
];
const KIND_OF: Readonly<Record<string, PollKind>> = {
  PollWorkflowTaskQueue: 'workflow',
  PollActivityTaskQueue: 'activities',
};

/** Reads the counters from the text of the SDK's Prometheus endpoint. */
export const readPollCounts = (text: string): PollCounts[] => {
  const found = new Map<string, PollCounts>();
  for (const [, name, labels, value] of text.matchAll(/^(\w+)\{(.*)\} ([\d.e+]+)$/gm)) {
    const counter = COUNTERS.find(([pattern]) => pattern.test(name!));
    const queue = /(?:^|,)task_queue="((?:[^"\\]|\\.)*)"/.exec(labels!)?.[1];
    if (counter === undefined || queue === undefined) continue;
    const kind = counter[2] ?? KIND_OF[/(?:^|,)operation="(\w+)"/.exec(labels!)?.[1] ?? ''];
    if (kind === undefined) continue;
    const key = `${kind} ${queue}`;
    const counts = found.get(key) ?? {
      queue,
      kind,
      started: 0,
      returned: 0,
      answered: 0,
      tasksFailed: 0,
      tasksEnded: 0,
    };
    counts[counter[1]] += Number(value);
    found.set(key, counts);
  }
  return [...found.values()];
};

export interface PollTrouble {
  sinceMs: number;
  text: string;
}

/** How long a failed workflow task counts that no other followed. */
const FAILURE_COUNTS_MS = 120_000;

/** The polls of one task queue and kind, as readings of them come in. */
export class PollState {
  private last: PollCounts | null = null;
  /** The last answer, or since when a poll has been open after a time without any. */
  private answeredAt: number;
  /**
   * From when on the server has had its time to answer: then, or since the open poll took the place
   * of one that was cut off on its way.
   */
  private begunAt: number;
  /** The first poll since the last answer that came back without one. */
  private refusedAt: number | null = null;
  /** Since when no reading has found a poll open. */
  private closedAt: number | null = null;
  private failingAt: number | null = null;
  private failedAt = -Infinity;
  private awayAt = -Infinity;

  constructor(
    readonly queue: string,
    readonly kind: PollKind,
    now: number,
  ) {
    this.answeredAt = now;
    this.begunAt = now;
  }

  /** `awayAt`: when the server was last found away, by another question than a poll. */
  see(counts: PollCounts, now: number, awayAt = -Infinity): void {
    const before = this.last ?? { ...counts, started: 0, returned: 0, answered: 0, tasksFailed: 0, tasksEnded: 0 };
    const wasOpen = this.isOpen();
    this.last = counts;
    this.awayAt = awayAt;
    this.closedAt = this.isOpen() ? null : (this.closedAt ?? now);
    if (counts.answered > before.answered) {
      this.answeredAt = this.begunAt = now;
      this.refusedAt = null;
    } else if (counts.returned > before.returned) {
      this.refusedAt ??= now;
      if (this.wasCutOff(now)) this.begunAt = now;
    } else if (!this.isOpen() && this.wasCutOff(now)) {
      this.begunAt = now;
    } else if (!wasOpen && this.isOpen() && this.refusedAt === null) this.answeredAt = this.begunAt = now; // all its slots were taken until now
    this.seeTasks(counts.tasksFailed - before.tasksFailed, counts.tasksEnded - before.tasksEnded, now);
  }

  /**
   * A poll that came back without an answer before its minute was over was cut off, and its
   * successor has its own minute. Later it was given up by its client, after 70 s, and hangs,
   * unless the server was away when it began. Several that hang are given up in turns, which looks
   * like cuts: so these are believed for a while only.
   */
  private wasCutOff(now: number): boolean {
    const isEarly = now - this.begunAt < POLL_MS || this.awayAt > this.begunAt;
    return isEarly && now - Math.max(this.answeredAt, this.awayAt) < POLL_BROKEN_MS;
  }

  /** Those that are not reported do not count as ended. */
  private seeTasks(failed: number, ended: number, now: number): void {
    if (ended > failed || now - this.failedAt > FAILURE_COUNTS_MS) this.failingAt = null;
    if (failed === 0 || ended > failed) return;
    this.failingAt ??= now;
    this.failedAt = now;
  }

  /** Since the last answer; 0: no poll is open and none was refused, since all slots are taken. */
  ageMs(now: number): number {
    return this.isOpen() || this.refusedAt !== null ? now - this.answeredAt : 0;
  }

  trouble(now: number): PollTrouble | null {
    const what = `polls of ${this.kind === 'workflow' ? 'workflow tasks' : 'activities'} on task queue ${this.queue}`;
    // A reading may fall between a poll that was given up and its successor.
    const isClosed = this.closedAt !== null && now - this.closedAt >= POLL_NEXT_MS;
    const unanswered = `none was answered for ${formatDuration(now - this.answeredAt)}`;
    if (this.refusedAt !== null && isClosed && now - this.refusedAt >= POLL_REFUSED_MS)
      return {
        sinceMs: this.refusedAt,
        text: `${what} are refused, or find no server: ${unanswered}`,
      };
    // A server that was away begins with those polls that reach it when it is back, and they come
    // back in their own time.
    const dueFrom = Math.max(this.begunAt, this.awayAt + POLL_RETRY_MS);
    if (this.isOpen() && now - dueFrom >= POLL_HANGS_MS)
      return {
        sinceMs: dueFrom,
        text: `${what} hang: ${unanswered}, and a server answers each within a minute`,
      };
    if (this.failingAt !== null && now - this.failingAt >= POLL_REFUSED_MS)
      return {
        sinceMs: this.failingAt,
        text: `every workflow task of task queue ${this.queue} has failed for ${formatDuration(now - this.failingAt)}`,
      };
    return null;
  }

  private isOpen(): boolean {
    return this.last !== null && this.last.started > this.last.returned;
  }
}
