import type { LaneRules } from '../../../../handlers/types';
import { ROUND } from '../../../../workflows/planning/lanes/strategies';
import { APPROACHES, LANE_KINDS, ON_INVALID, STRATEGIES } from '../../../../workflows/planning/lanes/types';
import type { BatchRow, Dependency, LanePlace, LaneRow, TargetRow } from '../rows';

/** From here on a status is an end. */
const FIRST_END = 10;
const IN_FLIGHT_FROM = 3;
const IN_FLIGHT_TO = 5;

export const hasNotEnded = (status: number): boolean => status < FIRST_END;
export const isWithDownstream = (status: number): boolean => status >= IN_FLIGHT_FROM && status <= IN_FLIGHT_TO;
/** The downstream does not have it, and no outcome of it is awaited. */
export const isUnsent = (status: number): boolean => status < IN_FLIGHT_FROM;

/** Returns what a batch of this load costs in the shares: as `round` of Postgres has it. */
export const costOf = (load: number): number => {
  const rounded = Math.round(load);
  const even = load % 1 === 0.5 && rounded % 2 === 1 ? rounded - 1 : rounded;
  return Math.min(10_000, Math.max(1, even));
};

/** Lanes, and the queuer that grants them. */
export class LaneTables {
  readonly byService = new Map<string, LaneRow>();
  readonly queuer = {
    slots: 16,
    strategy: STRATEGIES['per-service'] as number,
    depth: 3,
    round: 0,
    pausedFor: null as string | null,
  };
  readonly dependencies: Dependency[] = [];
  private readonly rows: LaneRow[] = [];

  constructor(private readonly rules: LaneRules) {}

  get all(): readonly LaneRow[] {
    return this.rows;
  }

  lane(id: number): LaneRow {
    return this.rows[id - 1]!;
  }

  those(ids: unknown): LaneRow[] {
    return (ids as number[]).map((id) => this.lane(id));
  }

  register(service: string): void {
    if (this.byService.has(service)) return;
    const { kind, approach, onInvalid, pendingLimit } = this.rules;
    const row: LaneRow = {
      ...{ id: this.rows.length + 1, service, kind: LANE_KINDS[kind], approach: APPROACHES[approach] },
      ...{ onInvalid: ON_INVALID[onInvalid], pendingLimit: pendingLimit ?? null, partition: null, weight: 1 },
      ...{ deficit: 0, served: this.queuer.round + ROUND, pending: 0, saturated: false, holdMs: null },
      ...{ ready: false, dueAtMs: null, granted: 0, blockedBy: null, pausedFor: null },
      ...{ haltedBy: null, haltReason: null, queue: [], open: [] },
    };
    this.rows.push(row);
    this.byService.set(service, row);
  }

  /** Puts a batch into its lane, at its place. */
  insert(batch: BatchRow, place: LanePlace): void {
    batch.inLane = place;
    const { open } = place.lane;
    let at = open.length;
    while (at > 0 && open[at - 1]!.inLane!.seq > place.seq) at--;
    open.splice(at, 0, batch);
  }

  /** Sets the status of a batch; one that has ended leaves the open ones of its lane. */
  move(batch: BatchRow, status: number, nowMs: number): void {
    const place = batch.inLane!;
    place.lane.pending += Number(isWithDownstream(status)) - Number(isWithDownstream(place.status));
    Object.assign(place, { status, changedAtMs: nowMs });
    if (!hasNotEnded(status)) this.leave(batch);
  }

  leave(batch: BatchRow): void {
    const { open } = batch.inLane!.lane;
    const at = open.indexOf(batch);
    if (at >= 0) open.splice(at, 1);
  }

  /** Returns the lanes with open batches that depend on one of these. */
  dependentLanes(batches: readonly number[], rowOf: (id: number) => BatchRow): LaneRow[] {
    const lanes = new Set<LaneRow>();
    for (const { batch, needs } of this.dependencies) {
      if (!batches.includes(needs)) continue;
      const place = rowOf(batch).inLane;
      if (place !== null && hasNotEnded(place.status)) lanes.add(place.lane);
    }
    return [...lanes];
  }
}

/** The calls that back pressure has left to a target, or to a handler. */
export interface Allowance {
  allowed: number | null;
  reductions: number;
}

/** Returns the lane that a target feeds; it feeds one when work of it is in a lane. */
export const laneOf = ({ lane }: TargetRow): LaneRow => lane!;
