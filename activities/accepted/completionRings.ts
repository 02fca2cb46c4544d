import { Coalescer } from '../../postgres/sharing/coalescer';
import { releaseDependents } from '../grouping/dependents';
import { freeTargets } from '../grouping/freeTargets';
import type { RingDeps } from '../grouping/ring';
import { ringLanes } from '../lanes/ring';
import type { CompletionRinger, CompletionRings, SharedRings } from './rings';

/** Shares rings: at most one in flight per handler and kind. */
export class SharedCompletionRings implements CompletionRinger {
  private readonly handlers = new Map<string, SharedRings>();

  constructor(private readonly deps: RingDeps) {}

  of(handler: string): SharedRings {
    const rings = this.handlers.get(handler) ?? new HandlerRings(this.deps, handler);
    this.handlers.set(handler, rings);
    return rings;
  }
}

class HandlerRings implements SharedRings {
  private readonly lanes: Coalescer<number>;
  private readonly targets: Coalescer<number>;
  private readonly releases = new Coalescer<true>(() => releaseDependents(this.deps));
  private hasNotifications = false;

  constructor(
    private readonly deps: RingDeps,
    handler: string,
  ) {
    this.lanes = new Coalescer((lanes) => ringLanes(deps, lanes));
    this.targets = new Coalescer(async (targets) => {
      const { hasNotifications } = this;
      this.hasNotifications = false;
      await freeTargets(deps, handler, targets, hasNotifications);
    });
  }

  addBehind(rings: CompletionRings | null): void {
    if (rings === null) return;
    this.hasNotifications ||= rings.hasNotifications;
    if (rings.awaited) void this.releases.add([true]);
    const rung = [this.lanes.add(rings.lanes), this.targets.add([rings.targetId])];
    for (const one of rung)
      one.catch((err: Error) => this.deps.log.warn({ err }, 'a ring failed; the sweeper will repeat it'));
  }

  async idle(): Promise<void> {
    await Promise.all([this.lanes.idle(), this.targets.idle(), this.releases.idle()]);
  }
}
