import type { Logger } from 'pino';
import { changeLimits, expired } from './change';
import { changeSharedLimit, dueUnderSharedLimit } from './changeShared';
import { dueUnderLimits } from './wakes';
import { wake } from '../grouping/ring';
import { ringLanes } from '../lanes/ring';
import { markReady } from '../../postgres/lanes/lane';
import type { ExpiredLimit } from '../../postgres/limits/overrides';
import { findExpiredLimits } from '../../postgres/limits/overrides';
import { findExpiredSharedLimits } from '../../postgres/limits/sharedSettings';
import type { Pool } from '../../postgres/pool';
import type { Requests } from '../../workflows/temporal/requests';

/** Most handlers and targets per round. */
const MOST = 100;

type Deps = { pool: Pool; requests: Requests; prefix: string; log: Pick<Logger, 'info' | 'warn'> };

/** A handler, a target or a shared limit of which limits end. */
interface Ending {
  of: { handler: string; target: string | null } | { sharedLimit: string };
  /** Returns which limits count differently now; null: it is gone. */
  remove: () => Promise<{ changed: unknown } | null>;
  /** Wakes what waited under them. */
  wake: () => Promise<void>;
}

/**
 * Removes limits whose time has passed: what is defined counts again. One that cannot be removed
 * now holds up no other. What fails is tried again at the next look.
 */
export class EndedLimits {
  /** Those whose removal failed: it may have been committed. */
  private unsure = new Map<string, Ending>();
  private unwoken = new Map<string, Ending>();
  private readonly told = new Set<string>();

  constructor(private readonly deps: Deps) {}

  /** Removes ended limits, and wakes what waited under them. To be repeated every few seconds. */
  async look(): Promise<void> {
    const { pool } = this.deps;
    const scopes = await findExpiredLimits(pool, MOST);
    const names = await findExpiredSharedLimits(pool, MOST);
    const endings = [...scopes.map((scope) => this.ending(scope)), ...names.map((name) => this.endingShared(name))];
    const found = new Set(endings.map(keyOf));
    for (const [key, one] of this.unsure) if (!found.has(key)) this.unwoken.set(key, one);
    this.unsure = new Map();
    await this.wakeAll();
    for (const one of endings) await this.end(one);
  }

  /**
   * Wakes what could not be woken before, or may not have been. Also for a process that looks no
   * longer: after an outage another one may.
   */
  async wakeAll(): Promise<void> {
    const due = new Map([...this.unsure, ...this.unwoken]);
    this.unsure = new Map();
    this.unwoken = new Map();
    for (const one of due.values()) await this.wake(one);
  }

  private ending({ handlerId, handler, targetId, target }: ExpiredLimit): Ending {
    const { pool } = this.deps;
    return {
      of: { handler, target },
      remove: () => changeLimits(pool, { handlerId, targetId }, expired),
      wake: async () => {
        const { leaders, laneIds } = await dueUnderLimits(pool, handler, target);
        await wake(this.deps, leaders);
        await markReady(pool, laneIds);
        await ringLanes(this.deps, laneIds);
      },
    };
  }

  private endingShared(name: string): Ending {
    const { pool } = this.deps;
    return {
      of: { sharedLimit: name },
      remove: () => changeSharedLimit(pool, name, (overrides) => overrides),
      wake: async () => wake(this.deps, await dueUnderSharedLimit(pool, name)),
    };
  }

  private async end(one: Ending): Promise<void> {
    try {
      const done = await one.remove();
      this.told.delete(keyOf(one));
      if (done === null) return;
      this.deps.log.info({ ...one.of, changed: done.changed }, 'limits that were set have ended by themselves');
    } catch (err) {
      this.unsure.set(keyOf(one), one);
      this.tell(one, err, 'limits that have ended could not be removed; the next rounds try again');
      return;
    }
    await this.wake(one);
  }

  private async wake(one: Ending): Promise<void> {
    try {
      await one.wake();
      this.told.delete(keyOf(one));
    } catch (err) {
      this.unwoken.set(keyOf(one), one);
      this.tell(one, err, 'limits have ended, and what waited under them was not woken; the next rounds try again');
    }
  }

  /** Warns once, until it succeeds. */
  private tell(one: Ending, err: unknown, message: string): void {
    if (this.told.has(keyOf(one))) return;
    this.told.add(keyOf(one));
    this.deps.log.warn({ err, ...one.of }, message);
  }
}

const keyOf = ({ of }: Ending): string => JSON.stringify(of);
