import { planGrants } from '../../../workflows/planning/lanes/grants';
import type { GrantPlan, Lane, StrategyName } from '../../../workflows/planning/lanes/types';
import { buildBatch, buildLane, newLaneServed } from './builders';

interface Service {
  lane: Lane;
  /** Weights of the batches that wait, with their sequences. */
  waiting: { sequence: number; weight: number }[];
}

/**
 * Lanes with a backlog and submitters that end at once: what a strategy alone makes of it. The
 * store gives lanes as it should.
 */
export class Backlog {
  private readonly services = new Map<string, Service>();
  private sequence = 0;
  round = 0;
  /** Lanes that were given to plans. */
  given = 0;

  constructor(
    public strategy: StrategyName,
    private readonly options: { depth?: number; approach?: Lane['approach'] } = {},
  ) {}

  add(service: string, batches: number, { weight = 1, batchWeight = 1 } = {}): void {
    let found = this.services.get(service);
    if (found === undefined) {
      const { approach = 'unconstrained' } = this.options;
      const id = this.services.size + 1;
      found = { lane: buildLane({ id, service, weight, approach, served: newLaneServed(this.round) }), waiting: [] };
      this.services.set(service, found);
    }
    for (let n = 0; n < batches; n += 1) found.waiting.push({ sequence: (this.sequence += 1), weight: batchWeight });
  }

  setWeight(service: string, weight: number): void {
    const found = this.services.get(service)!;
    found.lane = { ...found.lane, weight };
  }

  /** One plan for that many slots, applied; what was granted ends at once. */
  plan(slots: number): GrantPlan {
    const ready = [...this.services.values()].filter(({ waiting }) => waiting.length > 0);
    ready.sort((one, other) =>
      this.strategy === 'single'
        ? one.waiting[0]!.sequence - other.waiting[0]!.sequence
        : one.lane.served - other.lane.served || one.lane.id - other.lane.id,
    );
    const lanes = ready.slice(0, slots).map(({ lane, waiting }): Lane => {
      const open = waiting.slice(0, 64).map(({ sequence, weight }) => buildBatch({ id: sequence, weight }));
      return { ...lane, open, openMore: waiting.length > 64 };
    });
    this.given += lanes.length;
    const { strategy, round } = this;
    const { depth = 1 } = this.options;
    const plan = planGrants({ strategy, depth, round, paused: false, lanes, more: ready.length > slots }, slots);
    this.apply(plan);
    return plan;
  }

  private apply(plan: GrantPlan): void {
    this.round = plan.round;
    for (const { service, batchId } of plan.grants) {
      const { waiting } = this.services.get(service)!;
      const at = waiting.findIndex(({ sequence }) => sequence === batchId);
      if (at < 0) throw new Error(`batch ${batchId}: expected it to wait`);
      waiting.splice(at, 1);
    }
    for (const { laneId, served, deficit } of plan.lanes) {
      const found = [...this.services.values()].find(({ lane }) => lane.id === laneId)!;
      found.lane = { ...found.lane, served, deficit };
    }
  }

  /** The services granted, in order, until that many or nothing is left. */
  grants(count: number, slots: number): { service: string; weight: number }[] {
    const all: { service: string; weight: number }[] = [];
    while (all.length < count) {
      const { grants } = this.plan(Math.min(slots, count - all.length));
      if (grants.length === 0) break;
      all.push(...grants);
    }
    return all;
  }
}

/** How much each service got, in batch weights. */
export const sharesOf = (grants: readonly { service: string; weight: number }[]): Record<string, number> => {
  const shares: Record<string, number> = {};
  for (const { service, weight } of grants) shares[service] = (shares[service] ?? 0) + weight;
  return shares;
};

/** Jain's index: 1 = all the same, 1 / n = one has all. */
export const jainOf = (shares: readonly number[]): number => {
  const sum = shares.reduce((all, each) => all + each, 0);
  return sum ** 2 / (shares.length * shares.reduce((all, each) => all + each ** 2, 0));
};
