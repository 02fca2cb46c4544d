import { windowOf } from '../../../../workflows/planning/lanes/approaches';
import { planGrants } from '../../../../workflows/planning/lanes/grants';
import { isEnded, isInFlight } from '../../../../workflows/planning/lanes/statuses';
import type { LaneBatchStatus } from '../../../../workflows/planning/lanes/statuses';
import { newLaneServed } from '../builders';
import type { GrantPlan, Lane, QueuedBatch, StrategyName } from '../../../../workflows/planning/lanes/types';
import { whyNotCancelled } from '../../../../workflows/planning/lanes/cancel';
import { decideUnknown, type UnknownDecision, type UnknownFacts } from '../../../../workflows/planning/lanes/unknown';
import { ServiceState, type Truth } from './downstream';
import { checkTransition } from './transitions';

/** What is planted into the simulation to see it caught: the real functions, or broken ones. */
export interface Planner {
  planGrants: typeof planGrants;
  decideUnknown: (facts: UnknownFacts) => UnknownDecision;
  whyNotCancelled: typeof whyNotCancelled;
  /** What the store gives to a plan as a lane's open batches. */
  openOf?: (batches: readonly SimulatedBatch[]) => readonly SimulatedBatch[];
  /** How a status is written. */
  checkTransition?: (from: LaneBatchStatus, to: LaneBatchStatus) => void;
}
export const REAL: Planner = { planGrants, decideUnknown, whyNotCancelled };

export interface SimulatedBatch extends QueuedBatch {
  lane: SimulatedLane;
  needs: SimulatedBatch[];
  notBeforeAt: number;
  truth: Truth;
  resolving: boolean;
  lookUps: number;
  refusedKnown: boolean;
  sends: number;
  /** An earlier call may have been applied, for all that the queuer knows. */
  unsure: boolean;
}
export interface LaneOptions extends Pick<Lane, 'kind' | 'approach' | 'onInvalid' | 'pendingLimit'> {
  idempotent: boolean;
  canReconcile: boolean;
  unsure: boolean;
}
export interface SimulatedLane extends Lane {
  options: LaneOptions;
  batches: SimulatedBatch[];
  ready: boolean;
  dueAt: number;
  downstream: ServiceState;
  /** Accepted, in the order of acceptance. */
  accepted: SimulatedBatch[];
}

/**
 * A store, submitters and a downstream in memory, driven by commands; the planners are the real
 * ones.
 */
export class Simulation {
  readonly lanes: SimulatedLane[];
  readonly batches: SimulatedBatch[] = [];
  strategy: StrategyName = 'one-round';
  now = 0;
  round = 0;
  /** How often each status was entered: whether the runs meet what they are about. */
  readonly entered = new Map<LaneBatchStatus, number>();
  /** What went wrong, where only the deed shows it. */
  readonly faults: string[] = [];

  constructor(
    readonly planner: Planner,
    options: readonly LaneOptions[],
    readonly slots = 4,
  ) {
    this.lanes = options.map((each, at) => this.newLane(each, at + 1));
  }

  private newLane(options: LaneOptions, id: number): SimulatedLane {
    return {
      id,
      service: `service-${id}`,
      kind: options.kind,
      approach: options.approach,
      onInvalid: options.onInvalid,
      pendingLimit: options.pendingLimit,
      weight: 1,
      deficit: 0,
      served: newLaneServed(0),
      paused: false,
      haltedBy: null,
      holdInMs: null,
      pending: 0,
      saturated: false,
      open: [],
      openMore: false,
      options,
      batches: [],
      ready: false,
      dueAt: Infinity,
      downstream: new ServiceState(),
      accepted: [],
    };
  }

  submit(lane: SimulatedLane, batch: Pick<QueuedBatch, 'reads' | 'writes' | 'weight'>, needs: SimulatedBatch[]): void {
    const id = this.batches.length + 1;
    const fresh = {
      status: 'unsubmitted',
      truth: 'absent',
      part: 0,
      notBeforeInMs: null,
      waitsFor: [],
      failedOn: null,
    } as const;
    const made = { ...fresh, ...batch, id, sequence: id, lane, needs, notBeforeAt: 0, resolving: false };
    const full: SimulatedBatch = { ...made, lookUps: 0, refusedKnown: false, sends: 0, unsure: false };
    this.batches.push(full);
    lane.batches.push(full);
    this.ring(lane);
  }

  /** The lane as the store reads it for a plan. */
  view(lane: SimulatedLane): Lane {
    const window = windowOf(lane);
    const open = (this.planner.openOf ?? ((all) => all.filter(({ status }) => !isEnded(status))))(lane.batches);
    const given = open.slice(0, window).map((batch): QueuedBatch => {
      const failed = batch.needs.find(({ status }) => isEnded(status) && status !== 'committed');
      return {
        ...batch,
        notBeforeInMs: batch.notBeforeAt > this.now ? batch.notBeforeAt - this.now : null,
        waitsFor: batch.needs.filter(({ status }) => !isEnded(status)).map(({ id }) => id),
        failedOn: failed?.id ?? null,
      };
    });
    return { ...lane, open: given, openMore: open.length > given.length };
  }

  /**
   * Something may have made a batch of the lane eligible: as the store does it, the lane is marked,
   * and the next plan looks.
   */
  ring(lane: SimulatedLane): void {
    lane.ready = true;
    lane.dueAt = Infinity;
  }

  become(batch: SimulatedBatch, to: LaneBatchStatus, notBeforeMs = 0): void {
    (this.planner.checkTransition ?? checkTransition)(batch.status, to);
    const { lane } = batch;
    lane.pending += Number(isInFlight(to)) - Number(isInFlight(batch.status));
    batch.status = to;
    this.entered.set(to, (this.entered.get(to) ?? 0) + 1);
    batch.notBeforeAt = this.now + notBeforeMs;
    if (to === 'invalid') batch.refusedKnown = true;
    if (to === 'unknown') batch.unsure = true;
    if (to === 'parked' || (lane.onInvalid === 'halt' && (to === 'invalid' || to === 'failed-dependency')))
      lane.haltedBy = batch.id;
    this.ring(lane);
    if (isEnded(to)) for (const other of this.batches) if (other.needs.includes(batch)) this.ring(other.lane);
  }

  /** Grants until no slot or no lane is left. Returns how many. */
  grant(): number {
    let free = this.slots - this.batches.filter(({ status }) => status === 'submitted').length;
    let granted = 0;
    for (let plans = 0; ; plans += 1) {
      if (plans > 100) throw new Error('plan: expected an end, got 100 plans that each ask for another');
      const plan = this.planOnce(free);
      this.apply(plan);
      granted += plan.grants.length;
      free -= plan.grants.length;
      if (free < 0) this.faults.push('C2: more grants than free submitters');
      if (!plan.again) return granted;
    }
  }

  private planOnce(free: number): GrantPlan {
    for (const lane of this.lanes) if (lane.dueAt <= this.now) this.ring(lane);
    const ready = this.lanes
      .filter((lane) => lane.ready && !lane.paused && lane.haltedBy === null)
      .map((lane) => this.view(lane));
    const firstOf = ({ open }: Lane) => open.find(({ status }) => !isInFlight(status))?.sequence ?? 0;
    ready.sort((one, other) =>
      this.strategy === 'single' ? firstOf(one) - firstOf(other) : one.served - other.served || one.id - other.id,
    );
    const limit = Math.max(1, free);
    const lanes = ready.slice(0, limit);
    const { strategy, round } = this;
    return this.planner.planGrants(
      { strategy, depth: 2, round, paused: false, lanes, more: ready.length > limit },
      free,
    );
  }

  private apply(plan: GrantPlan): void {
    this.round = plan.round;
    for (const update of plan.lanes) {
      const { laneId, dueInMs, ...rest } = update;
      Object.assign(this.lanes[laneId - 1]!, rest, { dueAt: dueInMs === null ? Infinity : this.now + dueInMs });
    }
    for (const { batchId, purpose, from } of plan.grants) {
      const batch = this.batches[batchId - 1]!;
      (this.planner.checkTransition ?? checkTransition)(from, 'submitted');
      this.send(batch, purpose === 'resolve');
    }
    for (const { batchId } of plan.failures) this.become(this.batches[batchId - 1]!, 'failed-dependency');
  }

  private send(batch: SimulatedBatch, resolving: boolean): void {
    batch.status = 'submitted';
    this.entered.set('submitted', (this.entered.get('submitted') ?? 0) + 1);
    batch.resolving = resolving;
    if (resolving) return;
    if (batch.refusedKnown) this.faults.push(`C11: batch ${batch.id} was refused and is sent again`);
    if (batch.needs.some(({ status }) => status !== 'committed'))
      this.faults.push(`C18: batch ${batch.id} is sent before its dependency is committed`);
    batch.sends += 1;
    if (batch.truth === 'absent') batch.truth = 'in-air';
    else if (!batch.lane.options.idempotent) this.faults.push(`C28: batch ${batch.id} is sent again blindly`);
  }
}
