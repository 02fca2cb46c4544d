import type { CarriedBatch } from '../../postgres/calls/batch';
import { Coalescer } from '../../postgres/sharing/coalescer';
import { lookForReady } from '../../postgres/lanes/grant';
import type { ActivityDeps } from '../deps';
import type { FreeSlot, Granter, Granters } from '../shared';
import type { Ask } from './nextGrants';
import { grantNext } from './nextGrants';
import { wakeQueuersOf } from './ring';

/**
 * How often a free slot looks for newly ready work, and when it gives up: cheaper than a workflow
 * turn and an activity.
 */
const LOOK_EVERY_MS = 20;
const LINGER_MS = 250;

export type GranterDeps = Pick<ActivityDeps, 'pool' | 'handlers' | 'requests' | 'prefix' | 'log' | 'node'>;

interface Waiting extends FreeSlot {
  since: number;
  resolve: (batch: CarriedBatch | null) => void;
  reject: (error: unknown) => void;
}

/**
 * Grants for the free slots of all submitters of one queuer in this process: they share its lock,
 * so slots that come free while a grant is being made share the next one. A slot for which there is
 * nothing waits a little while batches are in flight: the next one of a serial lane may be ready in
 * a moment.
 */
class LaneGranter implements Granter {
  private waiting: Waiting[] = [];
  private readonly wakes = new Coalescer<number>((queuerIds) => wakeQueuersOf(this.deps, queuerIds));
  private asked = false;
  private working = false;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly deps: GranterDeps,
    private readonly queuerId: number,
  ) {}

  next(slot: FreeSlot): Promise<CarriedBatch | null> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ ...slot, since: performance.now(), resolve, reject });
      this.asked = true;
      void this.work();
    });
  }

  private async work(): Promise<void> {
    if (this.working) return;
    this.working = true;
    clearTimeout(this.timer);
    for (let again = true; again || this.asked;) {
      this.asked = false;
      again = await this.grant(this.waiting.splice(0));
    }
    this.working = false;
    this.rest();
  }

  private rest(): void {
    if (this.waiting.length > 0) this.timer = setTimeout(() => void this.look(), LOOK_EVERY_MS);
  }

  /** Grants a group; true: look again at once. Never rejects. */
  private async grant(group: readonly Waiting[]): Promise<boolean> {
    const [stopping, going] = split(group, ({ isStopping }) => isStopping());
    for (const { resolve } of stopping) resolve(null);
    if (going.length === 0) return false;
    try {
      const { batches, over, again, more } = await grantNext(this.deps, this.queuerId, asksOf(going));
      const left = going.filter((one) => {
        const batch = batches.get(one.no)?.shift();
        if (batch === undefined && !over.has(one.no) && !one.isStopping()) return true;
        one.resolve(batch ?? null);
        return false;
      });
      this.waiting.unshift(...left);
      // Not awaited before the next grant: the Temporal server may take its time, and the sweeper
      // repeats a lost wake.
      if (more) void this.wakes.add([this.queuerId]).catch(() => undefined);
      return again && left.length > 0;
    } catch (error) {
      for (const { reject } of going) reject(error);
      return false;
    }
  }

  private async look(): Promise<void> {
    this.giveUp(({ since, isStopping }) => since < performance.now() - LINGER_MS || isStopping());
    if (this.waiting.length === 0) return;
    const { ready, soon } = await lookForReady(this.deps.pool, this.queuerId).catch(() => PERHAPS);
    if (this.working) return;
    if (ready) return void this.work();
    if (!soon) this.giveUp(() => true);
    this.rest();
  }

  private giveUp(is: (one: Waiting) => boolean): void {
    const [tired, fresh] = split(this.waiting, is);
    this.waiting = fresh;
    for (const { resolve } of tired) resolve(null);
  }
}
/** Assumed when the look fails: the grant will report the error. */
const PERHAPS = { ready: true, soon: true };

/**
 * Splits a list into those for which it holds, and the others. Asks once for each: where the answer
 * depends on the time, a second question might lose one.
 */
export const split = <T>(all: readonly T[], is: (one: T) => boolean): [T[], T[]] => {
  const sides: [T[], T[]] = [[], []];
  for (const one of all) sides[is(one) ? 0 : 1].push(one);
  return sides;
};

const asksOf = (group: readonly Waiting[]): Ask[] => {
  const asks = new Map<number, Ask>();
  for (const { no, epoch } of group) asks.set(no, { no, epoch, slots: (asks.get(no)?.slots ?? 0) + 1 });
  return [...asks.values()];
};

/** The granters of one process, by queuer. */
export class LaneGranters implements Granters {
  private readonly byQueuer = new Map<number, LaneGranter>();

  constructor(private readonly deps: GranterDeps) {}

  of(queuerId: number): LaneGranter {
    const granter = this.byQueuer.get(queuerId) ?? new LaneGranter(this.deps, queuerId);
    this.byQueuer.set(queuerId, granter);
    return granter;
  }
}
