import type { Fence, Mark, UnusedMark } from '../../postgres/calls/mark';
import { readMembers } from '../../postgres/calls/members';
import { markAttempts, markFenced, unmarkAttempts } from '../../postgres/calls/mark';
import { withRetries } from '../../postgres/errors';
import { outlast } from '../../postgres/outage';
import type { Pool } from '../../postgres/pool';
import type { ActivityDeps } from '../deps';
import type { Marker, Planned, Prepared } from '../shared';
import { GroupCommit } from '../sharing/groupCommit';

/** The statements that mark calls of one kind right before they are made. */
export interface Marking<M> {
  mark(pool: Pool, marks: readonly M[], node: string): Promise<Set<number>>;
  /** Marks calls under the lease of a partition. */
  markFenced(pool: Pool, marks: readonly (M & { fence: Fence })[], node: string): Promise<Set<number>>;
  /** Takes back marks of calls that are not made. */
  unmark: Unmark;
  /** What carries the batch: its dispatch, or its submitter. */
  carrierOf(mark: M): number;
  /** The mark waits until the members are read. */
  comesLast: boolean;
}

type Unmark = (pool: Pool, marks: readonly UnusedMark[], node: string) => Promise<void>;

export const QUEUE_MARKING: Marking<Mark> = {
  mark: markAttempts,
  markFenced,
  unmark: unmarkAttempts,
  carrierOf: ({ dispatch }) => dispatch,
  comesLast: false,
};

interface Waiting<M> {
  marks: readonly Planned<M>[];
  signal: AbortSignal;
  resolve: (prepared: Prepared) => void;
  reject: (error: unknown) => void;
}

/** Bounds what one statement reads; a group is never split. */
const MOST_BATCHES = 64;

/**
 * Reads the members of batches about to be called and marks the calls, in two statements for all
 * dispatches of a process: while some are in progress the next ones wait and share the following
 * two. A lone batch waits for no other.
 */
export class Preparer<M extends { id: number; attempt: number }> implements Marker<M> {
  private readonly groupCommit = new GroupCommit<Waiting<M>>(
    MOST_BATCHES,
    ({ marks }) => marks.map(({ id }) => id),
    async (group) => {
      await this.run(group).catch((error: unknown) => {
        for (const one of group) one.reject(error);
      });
    },
  );

  constructor(
    private readonly deps: Pick<ActivityDeps, 'pool' | 'node' | 'log'>,
    private readonly marking: Marking<M>,
  ) {}

  prepare(marks: readonly Planned<M>[], signal: AbortSignal): Promise<Prepared> {
    return new Promise((resolve, reject) => this.groupCommit.add({ marks, signal, resolve, reject }));
  }

  private async run(group: readonly Waiting<M>[]): Promise<void> {
    const marks = group.flatMap((one) => one.marks);
    const ids = marks.map(({ id }) => id);
    const reading = withRetries(() => readMembers(this.deps.pool, ids));
    if (this.marking.comesLast) await reading;
    const markedAtMs = performance.now();
    const [read, written] = await Promise.allSettled([reading, this.markAll(marks)]);
    if (read.status === 'rejected' || written.status === 'rejected') {
      const reason: unknown = ((read.status === 'rejected' ? read : written) as PromiseRejectedResult).reason;
      await Promise.all(group.map((one) => this.takeBack(one, reason)));
      return;
    }
    const [members, marked] = [read.value, written.value];
    for (const { marks: own, resolve } of group)
      resolve({ members, marked: new Set(own.map(({ id }) => id).filter((id) => marked.has(id))), markedAtMs });
  }

  /**
   * Rejects one of a group whose reading or marking failed: none of its calls is made, and what may
   * be marked is taken back first. Only its own dispatch waits for that.
   */
  private async takeBack({ marks, signal, reject }: Waiting<M>, reason: unknown): Promise<void> {
    const unused = marks.map((mark) => ({
      id: mark.id,
      attempt: mark.attempt + 1,
      dispatch: this.marking.carrierOf(mark),
    }));
    await takeBackMarks(this.deps, unused, signal, this.marking.unmark).catch(() => undefined);
    reject(reason);
  }

  /** Marks batches in partitions with a separate statement: the others pay nothing for them. */
  private async markAll(marks: readonly Planned<M>[]): Promise<Set<number>> {
    const isFenced = (mark: Planned<M>): mark is M & { fence: Fence } => mark.fence !== undefined;
    const fenced = marks.filter(isFenced);
    const { pool, node } = this.deps;
    if (fenced.length === 0) return this.marking.mark(pool, marks, node);
    const marked = await this.marking.markFenced(pool, fenced, node);
    const plain = marks.filter((mark) => !isFenced(mark));
    if (plain.length === 0) return marked;
    return new Set([...marked, ...(await this.marking.mark(pool, plain, node))]);
  }
}

/**
 * Takes back marks of calls that were not made, through an outage of Postgres, too: a mark that
 * stays is a call of unknown outcome, and its batch is parked by default. Gives up when `signal` is
 * aborted, at the end of the process.
 */
export const takeBackMarks = async (
  { pool, node, log }: Pick<ActivityDeps, 'pool' | 'node' | 'log'>,
  marks: readonly UnusedMark[],
  signal: AbortSignal,
  unmark: Unmark = unmarkAttempts,
): Promise<void> => {
  if (marks.length === 0) return;
  const onOutage = (err: unknown): void =>
    log.warn({ err, batches: marks.length }, 'marks of calls that were not made stay until Postgres is back');
  await outlast(() => unmark(pool, marks, node), { signal, onOutage });
};
