import type { Sealer } from '../../handlers/codec/sealer';
import type { Contract } from '../../handlers/types';
import { isUniqueViolation, withRetries } from '../../postgres/errors';
import { isHandler, unserved } from '../../handlers/contracts/implement';
import { registerContract, registerHandler } from '../../postgres/grouping/handler';
import type { HandlerRow } from '../../postgres/grouping/handler';
import type { Client, Pool, Queryable } from '../../postgres/pool';
import { inTransaction } from '../../postgres/pool';
import type { NewTask } from '../../postgres/grouping/task';
import { copyTasks } from '../../postgres/grouping/submitting/copyTasks';
import type { LookedUpAtMs } from '../../postgres/grouping/target';
import { TargetIds } from '../targetIds';
import { Recipients } from '../callbacks/recipients';
import { LaneBindings } from '../lanes/bindings';
import { conflict, knownIds } from './repeats';
import { keepObjects, noting } from '../transactions/keptObjects';
import { newTasks } from './newTasks';
import { Overlap } from './calls/overlap';
import { sealPayloads } from './sealPayloads';
import { checkBacklog, inQueues } from './backlog';
import type { GroupCommit } from '../../postgres/sharing/groupCommit';
import type { FewStored, FewTasks } from './storeFew';
import { sharedInserts } from './storeFew';
import type { Counted } from './storeInTheirs';
import { storeInTheirs } from './storeInTheirs';
import { storeWithDependents } from './storeDependents';
import { serviceOf, storeInLanes } from '../lanes/submitInLane';
import type { CheckedTask } from './checkTasks';
import type { AdmitLanes } from './submitResult';
import type { TaskProblem } from '../errors';
import { InvalidTaskError } from '../errors';

/** From this many tasks on, COPY is faster than one insert statement. */
export const COPY_FROM = 50;

/**
 * Ids of targets that are kept per handler, and of lanes, beside those of one call; then all are
 * read anew.
 */
const MOST_KEPT = 100_000;
export interface Accepted {
  /** Number of tasks that were newly stored. */
  accepted: number;
  /** Number of tasks that existed already with the same content: they are the same tasks. */
  repeated: number;
  /** The problems of refused tasks, with partial acceptance only. */
  refused: TaskProblem[];
  targetIds: number[];
  /** Some of the stored tasks have dependencies. */
  hasDependents: boolean;
  /** Lanes of an ordered handler, which are rung in place of its targets. */
  laneIds: number[];
}

/** A target and the lane that it feeds. */
export interface BoundTarget {
  laneId: number;
  targetId: number;
  handlerId: number;
  lookedUpAtMs: LookedUpAtMs;
}

interface StoreOptions {
  partial: boolean;
  tx?: Queryable;
  trace?: string | null;
  admitLanes?: AdmitLanes;
}

interface InserterOptions {
  schema?: string;
  /**
   * What registers the new things of a caller's transaction, in separate commits: that transaction
   * may hold the only connection of the pool. Default: the pool.
   */
  beside?: () => Pool;
  /** Most ids of targets per handler, and of lanes, that are kept. */
  most?: number;
  /** What encodes the payloads. Default: nothing. */
  sealer?: Sealer | null;
}

/** What is stored of a call. */
interface SealedTasks {
  tasks: readonly CheckedTask[];
  /** What is stored of each payload; null: the payload itself. */
  payloads: readonly string[] | null;
  /** Repeats within the call. */
  twins: number;
  /** Those that are not stored, to which more are added. */
  refused: TaskProblem[];
}

/**
 * Stores checked tasks of a handler: registers the handler and its targets, inserts new tasks, and
 * recognises repeated ones. There is one instance per client, since it caches handlers, targets and
 * recipients.
 */
export class TaskInserter {
  private readonly handlers = new Map<string, HandlerRow>();
  readonly recipients = new Recipients();
  readonly targets: TargetIds;
  readonly overlap: Overlap;
  private expectRepeats = false;
  readonly lanes: LaneBindings;
  readonly sealer: Sealer | null;
  private readonly schema: string;
  private readonly beside: () => Pool;
  private readonly few: GroupCommit<FewTasks, FewStored>;

  constructor(
    readonly pool: Pool,
    { schema = 'muster', beside = () => pool, most = MOST_KEPT, sealer = null }: InserterOptions = {},
  ) {
    this.sealer = sealer;
    this.schema = schema;
    this.beside = beside;
    this.lanes = new LaneBindings(most);
    this.targets = new TargetIds(most, () => this.lanes.forget());
    this.overlap = new Overlap(pool, this.targets, () => (this.expectRepeats = true));
    this.few = sharedInserts(pool);
  }

  async store(handler: Contract, tasks: readonly CheckedTask[], options: StoreOptions): Promise<Accepted> {
    const refused: TaskProblem[] = [];
    const single = this.dropTwins(tasks, refused, options.partial);
    const { sealer } = this;
    const { partial } = options;
    // Once, however often targets are looked up: it may put objects into a store.
    const sealed =
      sealer === null
        ? { tasks: single, payloads: null }
        : await sealPayloads(sealer, handler, single, partial, refused, noting(this.registry(options.tx), sealer));
    const twins = tasks.length - sealed.tasks.length - refused.length;
    return this.targets.use(() => this.storeSealed(handler, { ...sealed, twins, refused: [...refused] }, options));
  }

  private async storeSealed(
    handler: Contract,
    { tasks: distinct, payloads, twins, refused }: SealedTasks,
    options: StoreOptions,
  ): Promise<Accepted> {
    const { sealer } = this;
    const registry = this.registry(options.tx);
    const row = await this.handlerRow(registry, handler);
    const { ids, lookedUpAtMs } = await this.targets.of(registry, handler, row, distinct);
    const check = (db: Queryable): Promise<void> => checkBacklog(db, inQueues, handler, row.id, distinct, ids);
    if (options.tx === undefined && !handler.ordered) await check(this.pool);
    const lanes = handler.ordered
      ? await this.lanesOf(registry, handler, row, distinct, ids, options.admitLanes)
      : null;
    const recipientIds = await this.recipients.idsOf(registry, distinct);
    const { trace = null } = options;
    const rows = newTasks(handler, distinct, { payloads, targetIds: ids, recipientIds, trace });
    const { partial, tx } = options;
    const storing = { handler, tasks: distinct, rows, lookedUpAtMs, partial, sealer };
    const targetIds = [...new Set(rows.map((task) => task.targetId))];
    const laneIds = [...new Set(lanes ?? [])];
    if (lanes !== null) {
      const context = { ...storing, handlerId: row.id, targetIds: ids, lanes, laneIds };
      const ordered = await storeInLanes(this.pool, this.schema, context, tx);
      return {
        ...ordered,
        repeated: ordered.repeated + twins,
        refused: [...refused, ...ordered.refused],
        targetIds,
        laneIds,
        hasDependents: false,
      };
    }
    const hasDependents = distinct.some(({ dependsOn }) => dependsOn.length > 0);
    if (hasDependents) {
      const stored = await storeWithDependents(tx ?? this.pool, this.schema, tx === undefined ? null : check, storing);
      const repeated = stored.repeated + twins;
      refused.push(...stored.problems);
      return { accepted: stored.inserted, repeated, refused, targetIds, laneIds, hasDependents };
    }
    const stored =
      tx === undefined
        ? await this.storeInOwn(storing, refused)
        : await storeInTheirs(tx, this.schema, check, storing, refused);
    const repeated = stored.repeated + twins;
    return { accepted: stored.accepted, repeated, refused, targetIds, laneIds, hasDependents };
  }

  /** Drops repeats of an id within one call. Repeats with different content are refused. */
  private dropTwins(tasks: readonly CheckedTask[], refused: TaskProblem[], partial: boolean): CheckedTask[] {
    const byId = new Map<string, CheckedTask>();
    for (const task of tasks) {
      const twin = byId.get(task.id);
      if (twin === undefined) byId.set(task.id, task);
      else if (twin.payload !== task.payload) refused.push(conflict(task, `task ${twin.index} of the same call`));
    }
    if (refused.length > 0 && !partial) throw new InvalidTaskError(refused);
    return [...byId.values()];
  }

  private async handlerRow(registry: Pool, handler: Contract): Promise<HandlerRow> {
    let row = this.handlers.get(handler.name);
    if (row === undefined)
      this.handlers.set(
        handler.name,
        (row = await withRetries(() =>
          isHandler(handler) ? registerHandler(registry, handler) : registerContract(registry, unserved(handler)),
        )),
      );
    return row;
  }

  /**
   * Registers the targets and lanes of these batches and binds them to each other, in separate
   * commits before the batches are stored.
   */
  async bindLanes(
    registry: Pool,
    handler: Contract,
    batches: readonly { service: string; target: string; tasks: readonly CheckedTask[] }[],
    admitLanes?: AdmitLanes,
  ): Promise<BoundTarget[]> {
    const row = await this.handlerRow(registry, handler);
    const { ids: targets, lookedUpAtMs } = await this.targets.of(
      registry,
      handler,
      row,
      batches.flatMap(({ tasks }) => tasks.slice(0, 1)),
    );
    const bound = await this.lanes.bind(
      registry,
      handler,
      row.id,
      batches.map(({ service, target }) => ({ service, target, targetId: targets.get(target)! })),
      admitLanes,
    );
    return bound.map((laneId, i) => {
      const targetId = targets.get(batches[i]!.target)!;
      return { laneId, targetId, handlerId: row.id, lookedUpAtMs };
    });
  }

  /** Returns the lane of each task. */
  private async lanesOf(
    registry: Pool,
    handler: Contract,
    row: HandlerRow,
    tasks: readonly CheckedTask[],
    ids: ReadonlyMap<string, number>,
    admitLanes: AdmitLanes | undefined,
  ): Promise<number[]> {
    const targets = tasks.map(({ target }) => ({ target, targetId: ids.get(target)! }));
    if (handler.service === undefined) return this.lanes.find(registry, handler, targets);
    const wanted = tasks.map(({ payload }, i) => ({
      ...targets[i]!,
      service: serviceOf(handler, targets[i]!.target, payload),
    }));
    return this.lanes.bind(registry, handler, row.id, wanted, admitLanes);
  }

  /** Returns the pool that registers what is new: for a caller's transaction, or for none. */
  registry(tx: Queryable | undefined): Pool {
    return tx === undefined ? this.pool : this.beside();
  }

  private async storeInOwn(call: FewTasks, refused: TaskProblem[]): Promise<Counted> {
    const { handler, tasks, rows, partial, lookedUpAtMs } = call;
    const refusedBefore = refused.length;
    let fresh = rows;
    let repeated = 0;
    if (rows.length < COPY_FROM) {
      const stored = await this.few.add(call);
      refused.push(...stored.problems);
      return { accepted: stored.inserted, repeated: stored.repeated };
    }
    for (let attempt = 1; ; attempt++) {
      if (this.expectRepeats || attempt > 1) {
        const known = await knownIds(this.pool, handler, tasks, refused, partial, this.sealer);
        repeated = known.repeated;
        fresh = rows.filter((row) => !known.ids.has(row.id));
      }
      if (fresh.length === 0) return { accepted: 0, repeated };
      try {
        await withRetries(() => inTransaction(this.pool, (client) => this.copy(client, fresh, lookedUpAtMs)));
        return { accepted: fresh.length, repeated };
      } catch (error) {
        if (!isUniqueViolation(error) || attempt >= 5) throw error;
        this.expectRepeats = true; // after a first repeat, checking before inserting is cheaper
        refused.length = refusedBefore;
      }
    }
  }

  private async copy(client: Client, fresh: readonly NewTask[], lookedUpAtMs: LookedUpAtMs): Promise<void> {
    await copyTasks(client, fresh, lookedUpAtMs);
    const payloads = fresh.map(({ payload }) => payload);
    await keepObjects(client, this.sealer, payloads);
  }
}
