import type { Contract } from '../handlers/types';
import { isTargetGone, TargetGoneError, withRetries } from '../postgres/errors';
import type { HandlerRow } from '../postgres/grouping/handler';
import type { LookedUpAtMs } from '../postgres/grouping/target';
import { registerTargets } from '../postgres/grouping/target';
import type { Pool } from '../postgres/pool';
import { leaderIndex } from '../workflows/planning/grouping/hash';

/**
 * How long ids are kept. The database refuses those that were looked up long before (decision
 * record 26): this only makes that rare, and lets what is in use be seen as such.
 */
const IDS_KEPT_MS = 3_600_000;
/** Ids that are refused again and again, right after they were looked up, are a mistake. */
const TRIES = 3;

/** The ids of a handler's targets by their keys, and when the oldest of them was looked up. */
export interface KnownTargets {
  ids: ReadonlyMap<string, number>;
  lookedUpAtMs: LookedUpAtMs;
}

/** What was looked up since `since`, a time of this process. It is forgotten as a whole. */
interface Known {
  since: number;
  byHandler: Map<string, Map<string, number>>;
  lookedUpAtMs: LookedUpAtMs;
}

/**
 * Knows the ids of targets, so that a known target costs nothing. The sweeper may delete one that
 * had no use for long, while this process keeps its id, or stands still for as long.
 */
export class TargetIds {
  private known: Known;

  constructor(
    /** Most ids per handler that are kept beside those of one call; then all are read anew. */
    private readonly most: number,
    /** Forgets what else is known of a target that was deleted. */
    private readonly forgetMore: () => void,
    private readonly now: () => number = () => performance.now(),
  ) {
    this.known = nothing(now());
  }

  /**
   * Returns the ids of the tasks' targets. Unknown targets are registered in a separate commit
   * before the tasks, or wakes would be lost.
   */
  async of(
    registry: Pool,
    { name }: Contract,
    row: HandlerRow,
    tasks: readonly { target: string }[],
  ): Promise<KnownTargets> {
    const { known } = this; // another call may forget it meanwhile
    let ids = known.byHandler.get(name);
    if (ids === undefined || ids.size > this.most) known.byHandler.set(name, (ids = new Map<string, number>()));
    const missing = new Set<string>();
    for (const { target } of tasks) if (!ids.has(target)) missing.add(target);
    if (missing.size > 0) {
      const keys = [...missing].sort(); // the same order in every process, so that two registrations cannot deadlock
      const names = keys.map((key) => (row.leaders === 0 ? key : String(leaderIndex(key, row.leaders))));
      const rows = await withRetries(() => registerTargets(registry, row.id, keys, names));
      if (rows.length < keys.length) throw new TargetGoneError();
      known.lookedUpAtMs = Math.min(known.lookedUpAtMs, rows[0]!.lookedUpAtMs);
      for (const { key, id } of rows) ids.set(key, id);
    }
    return { ids, lookedUpAtMs: known.lookedUpAtMs };
  }

  /** Returns what is known of a handler's targets without asking; null: nothing. */
  peek(handler: string): KnownTargets | null {
    const ids = this.known.byHandler.get(handler);
    return ids === undefined ? null : { ids, lookedUpAtMs: this.known.lookedUpAtMs };
  }

  /**
   * Runs `work`, which looks targets up and stores something for them, and runs it again if the
   * database refuses the ids, or one of the targets was deleted in between: nothing was stored.
   */
  async use<T>(work: () => Promise<T>): Promise<T> {
    if (this.now() - this.known.since > IDS_KEPT_MS) this.known = nothing(this.now());
    for (let attempt = 1; ; attempt++) {
      const { known } = this;
      try {
        return await work();
      } catch (error) {
        if (!isTargetGone(error) || attempt >= TRIES) throw error;
        if (this.known === known) this.forget(); // else another call has, and may have looked up since
      }
    }
  }

  private forget(): void {
    this.known = nothing(this.now());
    this.forgetMore();
  }
}

const nothing = (since: number): Known => ({ since, byHandler: new Map(), lookedUpAtMs: Infinity });
