import type { Need } from './needs';
import type { Seat } from './seats';
import type { MoveReason, PartitionFacts } from './types';

/**
 * A partition while the plan is made: its node in the plan, and what it costs to give it to
 * another.
 */
export interface Item {
  readonly facts: PartitionFacts;
  readonly need: Need;
  readonly weight: number;
  /**
   * Index of the open node that really holds it and may keep it: giving it to another is a move.
   * -1: it has to be given to a node anyway.
   */
  readonly origin: number;
  /** It came less than the minimum hold ago: a move for evenness waits. */
  readonly young: boolean;
  /** Why it must leave its holder; null: it need not. */
  readonly leaves: Exclude<MoveReason, 'free' | 'expired' | 'uneven' | 'load'> | null;
  /** Its node in the plan; -1: no node can have it. */
  seat: number;
  /** Its first step away from its original node. */
  step: Step | null;
}

/** Figures of a decision, as they were before it. */
export interface Step {
  order: number;
  reason: 'uneven' | 'load';
  /** Count or load at both ends of the step, or of the chain of steps that it is part of. */
  from: number;
  to: number;
  /** Node at the end of the chain, where that is not the one that takes this partition. */
  end: number;
}

/** Partitions with the same constraint on one node. */
export class Pile {
  /** Partitions that may go at no cost; the last one goes first. */
  private readonly loose: Item[] = [];
  private held: Item[] = [];
  private isSorted = true;

  constructor(readonly need: Need) {}

  add(item: Item): void {
    if (item.seat !== item.origin) this.loose.push(item);
    else {
      this.held.push(item);
      this.isSorted = false;
    }
  }

  get isEmpty(): boolean {
    return this.loose.length === 0 && this.held.length === 0;
  }
  get isLoose(): boolean {
    return this.loose.length > 0;
  }

  /**
   * Removes the partition that goes first: one without a cost, then the one held longest (the
   * newest stays), the young last.
   */
  take(): Item {
    if (!this.isSorted) {
      this.held = this.held.sort((a, b) => Number(b.young) - Number(a.young) || a.facts.heldMs - b.facts.heldMs);
      this.isSorted = true;
    }
    return this.loose.pop() ?? this.held.pop()!;
  }
}

/** By node, by index of the constraint. Partitions that only one node may have are in none. */
export type Piles = readonly Map<number, Pile>[];

/** The plan while it is made. */
export class Board {
  readonly counts: number[];
  readonly loads: number[];
  /** By node: how many of its partitions could go now, by the minimum hold. */
  readonly ready: number[];
  private steps = 0;

  constructor(
    readonly seats: readonly Seat[],
    readonly items: readonly Item[],
  ) {
    this.counts = seats.map(() => 0);
    this.loads = seats.map(() => 0);
    this.ready = seats.map(() => 0);
    for (const item of items) if (item.seat >= 0) this.put(item, item.seat);
  }

  put(item: Item, seat: number): void {
    item.seat = seat;
    this.counts[seat]!++;
    this.loads[seat]! += item.weight;
    if (isReady(item)) this.ready[seat]!++;
  }

  /** Moves a partition from its node to another one and remembers its first step. */
  shift(item: Item, to: number, step: Omit<Step, 'order'>): void {
    if (isReady(item)) this.ready[item.seat]!--;
    this.counts[item.seat]!--;
    this.loads[item.seat]! -= item.weight;
    item.step ??= { ...step, order: this.steps++ };
    this.put(item, to);
  }
}

const isReady = ({ origin, young }: Item): boolean => origin < 0 || !young;
