import type { Sealer } from '../../handlers/codec/sealer';
import type { BulkRow } from '../../postgres/bulk/action';
import { listFailedDependents } from '../../postgres/bulk/ended';
import type { EndedScope } from '../../postgres/listing/ended';
import type { ListedTask } from '../../postgres/listing/task';
import { readListed } from '../../postgres/listing/task';
import { findTasksOf } from '../../postgres/operations/redrive';
import type { Pool } from '../../postgres/pool';
import type { Criteria } from '../../workflows/planning/bulk/matches';
import { matches, needsErrors } from '../../workflows/planning/bulk/matches';
import { isAlready } from '../../workflows/planning/bulk/update';
import { isTerminal, TASK_STATES } from '../../workflows/planning/states';
import { ENDED_FIRST } from '../tasks/list/ended';
import { isStill, MOST_PARTS } from '../tasks/list/list';
import type { Candidate } from '../tasks/list/part';
import type { Place, Source } from '../tasks/list/sources';
import { SOURCES } from '../tasks/list/sources';
import { tagged, taggedDependents } from '../tasks/list/tagged';
import { openCompared } from './compared';
import type { StoredDeed, StoredFilter, StoredUpdate } from './stored';
import { deedOf, filterOf, openFilter } from './stored';

/** What a bulk action looks at: tasks as they were when it started. */
export type Bounds = Pick<BulkRow, 'handlerId' | 'lastSeq' | 'lastBatchId' | 'startUs'>;

/** Where it goes on: a table, by its number, and a place in it. */
export interface BulkCursor {
  source: number;
  place: Place;
}

/** Tasks that match, and where the next ones begin; null: that was all. */
export interface Page {
  tasks: ListedTask[];
  next: BulkCursor | null;
}

/**
 * Reads the tasks that a bulk action is about, page by page, in an order that its own changes keep.
 */
export class Selection {
  private readonly sources: readonly Source[];
  /** Where tasks are found that failed with a task which they depend on. */
  private readonly dependents: Source;
  private readonly scope: EndedScope;
  private readonly criteria: Criteria;

  private constructor(
    private readonly sealer: Sealer | null,
    private readonly bounds: Bounds,
    private readonly filter: StoredFilter,
    private readonly deed: StoredDeed,
  ) {
    const { state, id, target = null, tag, since, until } = filter;
    this.criteria = { ...filter, sinceMs: msOf(since), untilMs: msOf(until) };
    const [found, dependents] =
      tag === undefined ? [SOURCES[state], DEPENDENTS] : [[tagged(tag)], taggedDependents(tag)];
    this.dependents = dependents;
    const sinceUs = isTerminal(state) ? (this.criteria.sinceMs ?? 0) * 1_000 : 0;
    this.scope = { handlerId: bounds.handlerId, target, state: TASK_STATES[state], sinceUs, error: null };
    if (id !== undefined) this.sources = [named(id)];
    else this.sources = this.isInTwo ? [...found, dependents] : found;
  }

  static async of(sealer: Sealer | null, row: BulkRow): Promise<Selection> {
    return new Selection(sealer, row, await openFilter(sealer, filterOf(row)), deedOf(row));
  }

  static ofPlain(sealer: Sealer | null, bounds: Bounds, filter: StoredFilter, deed: StoredDeed): Selection {
    return new Selection(sealer, bounds, filter, deed);
  }

  /**
   * Failed tasks are sent again before those that failed because of them, which would otherwise
   * fail again at once.
   */
  private get isInTwo(): boolean {
    return this.filter.id === undefined && this.deed.do === 'redrive' && this.filter.state === 'failed';
  }

  /** Reads a page of at most `limit` tasks, from a cursor on; null: from the beginning. */
  async page(pool: Pool, from: BulkCursor | null, limit: number): Promise<Page> {
    const tasks: ListedTask[] = [];
    let next: BulkCursor | null = from ?? this.begin(0);
    for (let parts = 0; next !== null && tasks.length < limit && parts < MOST_PARTS; parts++) {
      const at: BulkCursor = next;
      const source = this.sources[at.source]!;
      const part = await source.read(pool, this.scope, at.place, limit - tasks.length);
      tasks.push(...(await this.matching(pool, source, part.candidates)));
      next = part.next === null ? this.begin(at.source + 1) : { source: at.source, place: part.next };
    }
    return { tasks, next };
  }

  private begin(number: number): BulkCursor | null {
    const source = this.sources[number];
    if (source === undefined) return null;
    const { startUs } = this.bounds;
    const untilUs = Math.min(startUs + 1, (this.criteria.untilMs ?? Infinity) * 1_000);
    const isByTime = source.first === ENDED_FIRST;
    return { source: number, place: isByTime ? [untilUs, 0, untilUs, 0, 0] : source.first };
  }

  private async matching(pool: Pool, source: Source, candidates: readonly Candidate[]): Promise<ListedTask[]> {
    const { lastSeq, lastBatchId } = this.bounds;
    const old = candidates.filter(
      ({ seq, batchId, isOwnEnd }) =>
        seq <= lastSeq &&
        (batchId === null || batchId <= lastBatchId) &&
        !(this.isInTwo && source !== this.dependents && isOwnEnd === true && batchId === null),
    );
    if (old.length === 0) return [];
    const rows = await readListed(
      pool,
      old.map(({ seq }) => seq),
    );
    const texts = await this.errorsOf(rows);
    const bySeq = new Map(rows.map((row, i) => [row.seq, { row, error: texts[i]! }]));
    return old.flatMap((candidate) => {
      const found = bySeq.get(candidate.seq);
      return found !== undefined && isStill(candidate, found.row) && this.isMeant(found.row, found.error)
        ? [found.row]
        : [];
    });
  }

  private errorsOf(rows: readonly ListedTask[]): Promise<string[]> | string[] {
    const texts = rows.map((row) => row.error ?? '');
    return needsErrors(this.criteria) ? openCompared(this.sealer, texts) : texts;
  }

  private isMeant(row: ListedTask, error: string): boolean {
    const at = isTerminal(this.filter.state) ? (row.finishedAt ?? row.createdAt) : row.createdAt;
    return (
      row.state === this.scope.state &&
      (this.filter.tag === undefined || row.tags?.includes(this.filter.tag) === true) &&
      matches(this.criteria, { error, atMs: at.getTime() }) &&
      !(this.deed.do === 'update' && this.isUnchanged(row))
    );
  }

  /** A retry that began to wait after the start has been sent since, perhaps because of it. */
  private isUnchanged(row: ListedTask): boolean {
    const { failedAt } = row;
    const isRetriedSince = failedAt !== null && failedAt.getTime() * 1_000 > this.bounds.startUs;
    const deed = this.deed as StoredUpdate;
    // What a payload is like is seen when its turn comes.
    return isRetriedSince || (deed.payloadPatch === undefined && isAsWanted(deed, row));
  }
}

/** Says whether a waiting task is as wanted already, whatever its payload is. */
export const isAsWanted = (deed: StoredUpdate, { priority, weight, notBefore, expiresAt }: ListedTask): boolean => {
  const notBeforeMs = notBefore?.getTime() ?? null;
  return isAlready(deed, { priority, weight, notBeforeMs, expiresAtMs: expiresAt?.getTime() ?? null });
};

const msOf = (time: string | undefined): number | undefined => (time === undefined ? undefined : Date.parse(time));

/** Where the task with an id is found. */
const named = (id: string): Source => ({
  name: 'named',
  first: [0],
  read: async (pool, { handlerId, target }) => {
    const found = await findTasksOf(pool, handlerId!, target, [id]);
    const rows = await readListed(
      pool,
      found.map(({ seq }) => seq),
    );
    return { candidates: rows.map(({ seq, batchId, isOwnEnd }) => ({ seq, batchId, isOwnEnd })), next: null };
  },
});

const DEPENDENTS: Source = {
  name: 'dependents',
  first: [0],
  read: async (pool, scope, [after], limit) => {
    const seqs = await listFailedDependents(pool, scope, Number(after), limit);
    const candidates = seqs.map((seq) => ({ seq, batchId: null, isOwnEnd: true }));
    return { candidates, next: seqs.length < limit ? null : [seqs.at(-1)!] };
  },
};
