import type { MemberTask } from '../../postgres/calls/batch';
import type { Fence } from '../../postgres/calls/mark';
import { readMembers } from '../../postgres/calls/batch';
import { withRetries } from '../../postgres/errors';
import type { Pool } from '../../postgres/pool';
import type { GrantedMark } from '../../postgres/lanes/submitter';
import { markGranted, markGrantedFenced } from '../../postgres/lanes/submitter';
import { Gatherer } from '../calls/groupCommit';

/** `fence`: of a lane in a partition. */
export type PlannedGrantedMark = GrantedMark & { fence?: Fence };

/** What its call needs. */
export interface PreparedGrant {
  members: MemberTask[];
  /** Right before the mark was written: whatever was waited for until then makes it no older. */
  markedAtMs: number;
}

interface Waiting {
  mark: PlannedGrantedMark;
  resolve: (prepared: PreparedGrant | null) => void;
  reject: (error: unknown) => void;
}

/** Bounds what one statement reads. */
const MOST_BATCHES = 64;

class LanePreparer {
  readonly gatherer = new Gatherer<Waiting>(
    MOST_BATCHES,
    ({ mark }) => [mark.id],
    async (group) => {
      await this.run(group).catch((error: unknown) => {
        for (const one of group) one.reject(error);
      });
    },
  );

  constructor(
    private readonly pool: Pool,
    private readonly node: string,
  ) {}

  private async run(group: readonly Waiting[]): Promise<void> {
    const ids = group.map(({ mark }) => mark.id);
    const members = await withRetries(() => readMembers(this.pool, ids));
    const markedAtMs = performance.now();
    // Not repeated on a failure: a mark whose commit was lost on the way is an attempt without an
    // end, and is concluded as such.
    const marked = await markAll(
      this.pool,
      group.map(({ mark }) => mark),
      this.node,
    );
    for (const { mark, resolve } of group)
      resolve(
        marked.has(mark.id) ? { members: members.filter(({ batchId }) => batchId === mark.id), markedAtMs } : null,
      );
  }
}

/** As outside of lanes. */
const markAll = async (pool: Pool, marks: readonly PlannedGrantedMark[], node: string): Promise<Set<number>> => {
  const isFenced = (mark: PlannedGrantedMark): mark is GrantedMark & { fence: Fence } => mark.fence !== undefined;
  const fenced = marks.filter(isFenced);
  if (fenced.length === 0) return markGranted(pool, marks, node);
  const marked = await markGrantedFenced(pool, fenced, node);
  const plain = marks.filter((mark) => !isFenced(mark));
  return plain.length === 0 ? marked : new Set([...marked, ...(await markGranted(pool, plain, node))]);
};

const preparers = new WeakMap<Pool, Map<string, LanePreparer>>();

/**
 * Reads the members of a granted batch and marks its call, in two statements for all that are
 * granted to this process meanwhile (C29: the mark comes last). Null: it must not be sent.
 */
export const prepareGranted = (pool: Pool, node: string, mark: PlannedGrantedMark): Promise<PreparedGrant | null> => {
  let ofPool = preparers.get(pool);
  if (ofPool === undefined) preparers.set(pool, (ofPool = new Map<string, LanePreparer>()));
  let preparer = ofPool.get(node);
  if (preparer === undefined) ofPool.set(node, (preparer = new LanePreparer(pool, node)));
  return new Promise((resolve, reject) => preparer.gatherer.add({ mark, resolve, reject }));
};
