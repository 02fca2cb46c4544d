import type { Need } from './needs';
import type { Seat } from './seats';
import type { MoveReason, PartitionFacts } from './types';

/** A partition on the board: where it stands in the plan, and what it costs to put it elsewhere. */
export interface Item {
  readonly facts: PartitionFacts;
  readonly need: Need;
  readonly weight: number;
  /**
   * Open seat that really holds it and may keep it: putting it elsewhere is a move. -1: it has to
   * be given to somebody anyway.
   */
  readonly origin: number;
  /** It came less than the minimum hold ago: a move for evenness waits (B13). */
  readonly young: boolean;
  /** Why it must leave its holder; null: it need not. */
  readonly leaves: Exclude<MoveReason, 'free' | 'expired' | 'uneven' | 'load'> | null;
  /** Seat in the plan; -1: no node can have it. */
  seat: number;
  /** Its first step away from where it stood. */
  step: Step | null;
}

/** Figures of a decision, before it. */
export interface Step {
  order: number;
  reason: 'uneven' | 'load';
  /** Count or load at both ends of the step, or of the chain of steps that it is part of. */
  from: number;
  to: number;
  /** Node at the end of the chain, where that is not who takes this partition. */
  end: number;
}

/** Partitions of one need on one seat. */
export class Pile {
  /** May go elsewhere for nothing; the last one first. */
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
   * What goes first: what costs nothing, then who was here longest (what came last stays), the
   * young last.
   */
  take(): Item {
    if (!this.isSorted) {
      this.held = this.held.sort((a, b) => Number(b.young) - Number(a.young) || a.facts.heldMs - b.facts.heldMs);
      this.isSorted = true;
    }
    return this.loose.pop() ?? this.held.pop()!;
  }
}

/** By seat, by index of the need. What only one node may have is in none. */
export type Piles = readonly Map<number, Pile>[];

/** The plan while it is made. */
export class Board {
  readonly counts: number[];
  readonly loads: number[];
  /** By seat: how many of it could go now, by the minimum hold. */
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

  /** Takes it from its seat to another one; its first step is remembered. */
  shift(item: Item, to: number, step: Omit<Step, 'order'>): void {
    if (isReady(item)) this.ready[item.seat]!--;
    this.counts[item.seat]!--;
    this.loads[item.seat]! -= item.weight;
    item.step ??= { ...step, order: this.steps++ };
    this.put(item, to);
  }
}

const isReady = ({ origin, young }: Item): boolean => origin < 0 || !young;
