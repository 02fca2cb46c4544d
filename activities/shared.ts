import type { CarriedBatch } from '../postgres/calls/batch';
import type { MemberTask } from '../postgres/calls/members';
import type { Fence, Mark } from '../postgres/calls/mark';
import type { GrantedMark } from '../postgres/lanes/submitter';
import type { Handler } from '../handlers/types';
import type { RateLimit } from '../workflows/planning/limits/limits';
import type { SharedRate } from '../workflows/planning/limits/sharing';
import type { CompletionRinger } from './accepted/rings';
import type { Home } from './calls/call';
import type { ModuleProcesses } from './executions/executors';

/**
 * What all work of one process shares: built once (`createShared`) and handed over with the other
 * dependencies.
 */
export interface Shared {
  paces: Paces;
  /** Marks of batches that a leader formed. */
  marks: Marker<Mark>;
  /** Marks of lane batches: the mark comes last. */
  laneMarks: Marker<GrantedMark>;
  granters: Granters;
  homes: Homes;
  completionRings: CompletionRinger;
  /** In which functions in WebAssembly run. */
  modules: ModuleProcesses;
}

/** The kinds of batches; what is written through one of them shares statements. */
export interface Homes {
  queue: Home;
  lane: Home;
}

/** What one call takes of a rate, by its unit. */
export interface CallCost {
  calls: 1;
  items: number;
  weight: number;
}

/** The rates of a handler as one process keeps them. */
export interface Pace {
  /**
   * Returns the database's clock, from how far it was ahead of `performance.now()` when it was
   * read: the time that the reading took makes it earlier, never later.
   */
  clock(aheadMs: number): () => number;
  /**
   * Resolves with true right when the call may start, and counts it; with false, uncounted, once
   * `givesUp`. `clock`: the database's time in ms, as the plan's. `rates`: those that were set at
   * run time; absent: those of the handler's definition.
   */
  turn(
    targetId: number,
    cost: CallCost,
    clock: () => number,
    givesUp: () => boolean,
    rates?: readonly (RateLimit | SharedRate)[],
  ): Promise<boolean>;
}

/** Returns the pace that all calls of a handler in this process keep. */
export interface Paces {
  of(handler: Pick<Handler, 'name' | 'rates'>): Pace;
}

/** `fence`: for a batch in a partition. */
export type Planned<M> = M & { fence?: Fence };

export interface Prepared {
  /** By batch, in their order; those of other groups, too. */
  members: ReadonlyMap<number, MemberTask[]>;
  /** Batches that may be sent; no other must be. */
  marked: Set<number>;
  /** When writing the marks began, by `performance.now()`: waiting before that makes none older. */
  markedAtMs: number;
}

/** Reads the members of batches that are about to be called and marks the calls. */
export interface Marker<M> {
  prepare(marks: readonly Planned<M>[], signal: AbortSignal): Promise<Prepared>;
}

/** A free slot of a submitter. */
export interface FreeSlot {
  no: number;
  epoch: number;
  isStopping: () => boolean;
}

/** Grants the free slots of all submitters of this process together. */
export interface Granter {
  /** Returns the next batch for one free slot; null: there is none, or its submitter must end. */
  next(slot: FreeSlot): Promise<CarriedBatch | null>;
}

/** Returns the granter of a queuer. */
export interface Granters {
  of(queuerId: number): Granter;
}
