import { AsyncResource } from 'node:async_hooks';
import { storedVersionOf } from '../../../handlers/contracts/payloadVersion';
import type { Contract } from '../../../handlers/types';
import { isUniqueViolation, withRetries } from '../../../postgres/errors';
import { copyRows, queueCopied } from '../../../postgres/grouping/submitting/copyTasks';
import type { NewTask } from '../../../postgres/grouping/task';
import type { Pool } from '../../../postgres/pool';
import { inTransaction } from '../../../postgres/pool';
import type { KnownTargets, TargetIds } from '../../targetIds';
import type { Checks } from './checks';
import type { CheckedTask } from '../checkTasks';
import { newTask } from '../newTasks';

/**
 * From this many tasks on it pays to check and store at the same time: each costs as much as the
 * other.
 */
export const OVERLAP_FROM = 1_000;
/** Tasks that are checked before a transaction begins: what is wrong with a call shows early. */
const AHEAD = 500;
/** Tasks that are checked between two looks at whether the call is still plain. */
const STEP = 100;
/**
 * Checks keep no transaction open for longer. Where those of the first tasks took too long for
 * that, none is begun.
 */
const OPEN_MS = 2_000;
/** After a call that was not plain so many of its handler's are checked first. */
const SKIPPED = 15;

/** A call is not plain: nothing of it was stored, and it is stored in the usual way. */
class NotPlain extends Error {}

/**
 * Stores the tasks of large calls while later ones of the same call are still being checked. Only
 * plain calls: every task is accepted, and its target known, it has no callback and no
 * dependencies, and no id comes twice. That a call is not plain shows on the way. Then what was
 * written is rolled back, and the handler's next calls are not tried.
 */
export class Overlap {
  private readonly skip = new Map<string, number>();

  constructor(
    private readonly pool: Pool,
    private readonly targets: TargetIds,
    /** Told that a call has tasks which exist. */
    private readonly expectRepeats: () => void = () => undefined,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /**
   * Returns the targets of the stored tasks; null: nothing was stored. `within` stores in the span
   * of the call.
   *
   * @throws DatabaseError also where a task that has not been checked may be refused.
   */
  async store(handler: Contract, checks: Checks, within: Within): Promise<number[] | null> {
    const left = this.skip.get(handler.name) ?? 0;
    if (left > 0) this.skip.set(handler.name, left - 1);
    if (left > 0 || !isPlainHandler(handler)) return null;
    return this.targets.use(async () => {
      const known = this.targets.peek(handler.name);
      const begun = this.now();
      checks.check(AHEAD - checks.checked.length);
      if ((this.now() - begun) * (checks.given / AHEAD) > OPEN_MS) return null;
      if (known === null || checks.problems.length > 0) return null;
      if (!checks.checked.every((task) => isPlain(task, known))) return null;
      // In the context of the call, although the connection asks: a handler's functions may read an
      // `AsyncLocalStorage`.
      const check = AsyncResource.bind((more: number) => checks.check(more));
      const ids = await within((trace) => this.tryAll(handler, { checks, check, known }, trace));
      if (ids === null) this.skip.set(handler.name, SKIPPED);
      return ids;
    });
  }

  /** Returns null if the call turns out not to be plain. */
  private async tryAll(handler: Contract, call: Call, trace: string | null): Promise<number[] | null> {
    try {
      // Begins anew after a conflict: what has been checked stays so.
      return await withRetries(() => this.try(new PlainTasks(handler, call, trace, this.now)));
    } catch (error) {
      if (isUniqueViolation(error)) this.expectRepeats();
      else if (!(error instanceof NotPlain)) throw error;
      return null;
    }
  }

  private try(tasks: PlainTasks): Promise<number[]> {
    return inTransaction(this.pool, async (client) => {
      const copied = await copyRows(client, tasks.each(), tasks.form, tasks.lookedUpAtMs);
      if (!tasks.areAll) throw new NotPlain();
      await queueCopied(client, copied);
      return [...tasks.targetIds];
    });
  }
}

/** A call, and how further ones of its tasks are checked. */
interface Call {
  checks: Checks;
  check(more: number): void;
  known: KnownTargets;
}

/** Stores tasks, given the trace context that they are to be stored with. */
type Within = <T>(store: (trace: string | null) => Promise<T>) => Promise<T>;

const isPlainHandler = ({ ordered, maxQueued }: Contract): boolean =>
  ordered !== true && maxQueued.perHandler === undefined && maxQueued.perTarget === undefined;

const isPlain = ({ target, callback, dependsOn }: CheckedTask, { ids }: KnownTargets): boolean =>
  ids.has(target) && callback === null && dependsOn.length === 0;

/** The tasks of one call, as long as they are plain. */
class PlainTasks {
  readonly targetIds = new Set<number>();
  readonly form: Pick<NewTask, 'version' | 'trace'>;
  readonly lookedUpAtMs: number;
  areAll = false;

  constructor(
    handler: Contract,
    private readonly call: Call,
    trace: string | null,
    private readonly now: () => number,
  ) {
    this.form = { version: storedVersionOf(handler), trace };
    this.lookedUpAtMs = call.known.lookedUpAtMs;
  }

  /** Ends early where one is not plain. */
  *each(): Generator<NewTask> {
    const { targetIds } = this;
    const { checks, known } = this.call;
    const { version, trace } = this.form;
    const { checked, problems } = checks;
    let tookMs = 0; // of the checks alone: a database that is slow is no reason to begin again
    for (let i = 0; i < checks.given; i++) {
      if (i === checked.length) {
        const begun = this.now();
        this.call.check(STEP);
        tookMs += this.now() - begun;
        if (problems.length > 0 || tookMs > OPEN_MS) return;
      }
      const task = checked[i]!;
      if (!isPlain(task, known)) return;
      const targetId = known.ids.get(task.target)!;
      targetIds.add(targetId);
      yield newTask(task, targetId, task.payload, null, version, trace);
    }
    this.areAll = true;
  }
}
