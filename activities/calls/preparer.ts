import type { Fence, Mark } from '../../postgres/calls/mark';
import { readMembers } from '../../postgres/calls/members';
import { markAttempts, markFenced } from '../../postgres/calls/mark';
import { withRetries } from '../../postgres/errors';
import type { Pool } from '../../postgres/pool';
import type { Marker, Planned, Prepared } from '../shared';
import { GroupCommit } from '../sharing/groupCommit';

/** The statements that mark calls of one kind right before they are made. */
export interface Marking<M> {
  mark(pool: Pool, marks: readonly M[], node: string): Promise<Set<number>>;
  /** Marks calls under the lease of a partition. */
  markFenced(pool: Pool, marks: readonly (M & { fence: Fence })[], node: string): Promise<Set<number>>;
  /** The mark waits until the members are read. */
  comesLast: boolean;
}

export const QUEUE_MARKING: Marking<Mark> = { mark: markAttempts, markFenced, comesLast: false };

interface Waiting<M> {
  marks: readonly Planned<M>[];
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
export class Preparer<M extends { id: number }> implements Marker<M> {
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
    private readonly pool: Pool,
    private readonly node: string,
    private readonly marking: Marking<M>,
  ) {}

  prepare(marks: readonly Planned<M>[]): Promise<Prepared> {
    return new Promise((resolve, reject) => this.groupCommit.add({ marks, resolve, reject }));
  }

  private async run(group: readonly Waiting<M>[]): Promise<void> {
    const marks = group.flatMap((one) => one.marks);
    const ids = marks.map(({ id }) => id);
    const reading = withRetries(() => readMembers(this.pool, ids));
    if (this.marking.comesLast) await reading;
    const markedAtMs = performance.now();
    // Not repeated on a failure: a mark whose commit was lost on the way is an attempt without an
    // end, and is concluded as such.
    const [members, marked] = await Promise.all([reading, this.markAll(marks)]);
    const ownerOf = new Map<number, Prepared>();
    const answers = group.map((one): Prepared => {
      const answer: Prepared = { members: [], marked: new Set(), markedAtMs };
      for (const { id } of one.marks) {
        ownerOf.set(id, answer);
        if (marked.has(id)) answer.marked.add(id);
      }
      return answer;
    });
    for (const member of members) ownerOf.get(member.batchId)!.members.push(member);
    group.forEach((one, i) => one.resolve(answers[i]!));
  }

  /** Marks batches in partitions with a separate statement: the others pay nothing for them. */
  private async markAll(marks: readonly Planned<M>[]): Promise<Set<number>> {
    const isFenced = (mark: Planned<M>): mark is M & { fence: Fence } => mark.fence !== undefined;
    const fenced = marks.filter(isFenced);
    if (fenced.length === 0) return this.marking.mark(this.pool, marks, this.node);
    const marked = await this.marking.markFenced(this.pool, fenced, this.node);
    const plain = marks.filter((mark) => !isFenced(mark));
    if (plain.length === 0) return marked;
    return new Set([...marked, ...(await this.marking.mark(this.pool, plain, this.node))]);
  }
}
