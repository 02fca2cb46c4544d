import type { MemberTask } from '../../postgres/calls/batch';
import type { Fence, Mark } from '../../postgres/calls/mark';
import { readMembers } from '../../postgres/calls/batch';
import { markAttempts, markFenced } from '../../postgres/calls/mark';
import { withRetries } from '../../postgres/errors';
import type { Pool } from '../../postgres/pool';
import { Gatherer } from './groupCommit';

export interface Prepared {
  /** In batch and member order. */
  members: MemberTask[];
  marked: Set<number>;
}

/** `fence`: of a handler with affinity. */
export type PlannedMark = Mark & { fence?: Fence };

interface Waiting {
  marks: readonly PlannedMark[];
  resolve: (prepared: Prepared) => void;
  reject: (error: unknown) => void;
}

/** Bounds what one statement reads; a group is never split. */
const MOST_BATCHES = 64;

/**
 * Reads the members of batches about to be called and marks the calls, in two statements for all
 * submissions of a process: while some are on their way the next ones gather and share the
 * following two. A lone batch waits for nobody.
 */
class Preparer {
  private readonly gatherer = new Gatherer<Waiting>(MOST_BATCHES, idsOf, async (group) => {
    await this.run(group).catch((error: unknown) => {
      for (const one of group) one.reject(error);
    });
  });

  constructor(
    private readonly pool: Pool,
    private readonly node: string,
  ) {}

  prepare(marks: readonly PlannedMark[]): Promise<Prepared> {
    return new Promise((resolve, reject) => this.gatherer.add({ marks, resolve, reject }));
  }

  private async run(group: readonly Waiting[]): Promise<void> {
    const marks = group.flatMap((one) => one.marks);
    // Not repeated on a failure: a mark whose commit was lost on the way is an attempt without an
    // end, and is concluded as such.
    const [members, marked] = await Promise.all([
      withRetries(() =>
        readMembers(
          this.pool,
          marks.map((mark) => mark.id),
        ),
      ),
      markAll(this.pool, marks, this.node),
    ]);
    const ownerOf = new Map<number, Prepared>();
    const answers = group.map((one): Prepared => {
      const answer: Prepared = { members: [], marked: new Set() };
      for (const { id } of one.marks) {
        ownerOf.set(id, answer);
        if (marked.has(id)) answer.marked.add(id);
      }
      return answer;
    });
    for (const member of members) ownerOf.get(member.batchId)!.members.push(member);
    group.forEach((one, i) => one.resolve(answers[i]!));
  }
}

/** Those of partitions in a statement of their own: the others pay nothing for them. */
const markAll = async (pool: Pool, marks: readonly PlannedMark[], node: string): Promise<Set<number>> => {
  const isFenced = (mark: PlannedMark): mark is Mark & { fence: Fence } => mark.fence !== undefined;
  const fenced = marks.filter(isFenced);
  if (fenced.length === 0) return markAttempts(pool, marks, node);
  const marked = await markFenced(pool, fenced, node);
  const plain = marks.filter((mark) => !isFenced(mark));
  return plain.length === 0 ? marked : new Set([...marked, ...(await markAttempts(pool, plain, node))]);
};

const idsOf = ({ marks }: Waiting): number[] => marks.map(({ id }) => id);

const preparers = new WeakMap<Pool, Map<string, Preparer>>();

/** One of each process and node name. */
export const preparerOf = (pool: Pool, node: string): { prepare(marks: readonly PlannedMark[]): Promise<Prepared> } => {
  let ofPool = preparers.get(pool);
  if (ofPool === undefined) preparers.set(pool, (ofPool = new Map<string, Preparer>()));
  let preparer = ofPool.get(node);
  if (preparer === undefined) ofPool.set(node, (preparer = new Preparer(pool, node)));
  return preparer;
};
