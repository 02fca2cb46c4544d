import { Gather } from '../../postgres/sharing/coalesce';
import { freeTargets } from '../grouping/freeTargets';
import type { RingDeps } from '../grouping/ring';
import { ringLanes } from '../lanes/ring';
import type { CompletionRings } from './complete';

const rings = new WeakMap<RingDeps, Map<string, SharedRings>>();

/** One of each process and handler. */
export const sharedRings = (deps: RingDeps, handler: string): SharedRings => {
  const ofDeps = rings.get(deps) ?? new Map<string, SharedRings>();
  rings.set(deps, ofDeps);
  const shared = ofDeps.get(handler) ?? new SharedRings(deps, handler);
  ofDeps.set(handler, shared);
  return shared;
};

/**
 * Rings after many completions of one handler: one ring in flight, those that end meanwhile share
 * the next.
 */
class SharedRings {
  private readonly lanes: Gather<number>;
  private readonly targets: Gather<number>;
  private notices = false;

  constructor(
    private readonly deps: RingDeps,
    handler: string,
  ) {
    this.lanes = new Gather((lanes) => ringLanes(deps, lanes));
    this.targets = new Gather(async (targets) => {
      const { notices } = this;
      this.notices = false;
      await freeTargets(deps, handler, targets, notices);
    });
  }

  /** Without waiting. One that fails is logged. */
  addBehind(rings: CompletionRings | null): void {
    if (rings === null) return;
    this.notices ||= rings.notices;
    const rung = [rings.inLane ? this.lanes.add(rings.lanes) : null, this.targets.add([rings.targetId])];
    for (const one of rung)
      one?.catch((err: Error) => this.deps.log.warn({ err }, 'a ring failed; the sweeper will repeat it'));
  }

  /** Resolves when all whose completion was added were told, or a ring has failed. */
  async idle(): Promise<void> {
    await Promise.all([this.lanes.idle(), this.targets.idle()]);
  }
}
