import type { Constraint } from './constraints';
import type { Node } from './fleet';
import type { MoveReason, PartitionFacts } from './types';

/**
 * A partition while the plan is made: its node in the plan, and whether another node costs a move.
 */
export interface PlannedPartition {
  readonly facts: PartitionFacts;
  readonly constraint: Constraint;
  readonly weight: number;
  /**
   * Index of the open node that really holds the partition and may keep it: giving it to another
   * node is a move. -1: there is no such node, and the partition has to be given to a node anyway.
   */
  readonly origin: number;
  /**
   * Its holder was asked to give it up for this node, which may still have it. By weight, a move
   * that has begun is finished: the next plan may assume other moves that are not made yet, and
   * would take this one back without end.
   */
  readonly begun: boolean;
  /** Its holder got it less than the minimum hold ago, so that it is not moved for evenness yet. */
  readonly young: boolean;
  /** Why it must leave its holder; null: it need not. */
  readonly leaves: Exclude<MoveReason, 'free' | 'expired' | 'uneven' | 'load'> | null;
  /** Index of its node in the plan; -1: it has none, or no node is able to have it. */
  node: number;
  /** Its first step away from its original node. */
  step: Step | null;
  /** How often it was given to another node in this plan. */
  steps: number;
}

/** The figures of a decision, as they were before it. */
export interface Step {
  order: number;
  reason: 'uneven' | 'load';
  /** Count or load at both ends of the step, or of the chain that the step is part of. */
  from: number;
  to: number;
  /**
   * Index of the node at the end of the chain, which need not be the node that takes this
   * partition.
   */
  end: number;
}

/** A node's partitions of one constraint. */
export class Share {
  /**
   * Partitions that the node does not really hold, which may go at no cost; the last one goes
   * first.
   */
  private readonly loose: PlannedPartition[] = [];
  private held: PlannedPartition[] = [];
  private isSorted = true;

  constructor(readonly constraint: Constraint) {}

  add(partition: PlannedPartition): void {
    if (partition.node !== partition.origin) this.loose.push(partition);
    else {
      this.held.push(partition);
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
   * Removes and returns the partition that goes first: one that costs no move, then the one held
   * longest, and young ones last.
   */
  take(): PlannedPartition {
    if (!this.isSorted) {
      this.held = this.held.sort((a, b) => Number(b.young) - Number(a.young) || a.facts.heldMs - b.facts.heldMs);
      this.isSorted = true;
    }
    return this.loose.pop() ?? this.held.pop()!;
  }
}

/**
 * The shares of each node, by index of the constraint. Partitions that only one node may have are
 * left out.
 */
export type Shares = readonly Map<number, Share>[];

/** The plan while it is made. Nodes are given by their index in `nodes`. */
export class Plan {
  readonly counts: number[];
  readonly loads: number[];
  /** By node: how many of its partitions the minimum hold would let go now. */
  readonly ready: number[];
  private steps = 0;

  constructor(
    readonly nodes: readonly Node[],
    readonly partitions: readonly PlannedPartition[],
  ) {
    this.counts = nodes.map(() => 0);
    this.loads = nodes.map(() => 0);
    this.ready = nodes.map(() => 0);
    for (const partition of partitions) if (partition.node >= 0) this.put(partition, partition.node);
  }

  put(partition: PlannedPartition, node: number): void {
    partition.node = node;
    this.counts[node]!++;
    this.loads[node]! += partition.weight;
    if (isReady(partition)) this.ready[node]!++;
  }

  /** Moves a partition from its node to another one, and records its first step. */
  shift(partition: PlannedPartition, to: number, step: Omit<Step, 'order'>): void {
    if (isReady(partition)) this.ready[partition.node]!--;
    this.counts[partition.node]!--;
    this.loads[partition.node]! -= partition.weight;
    partition.step ??= { ...step, order: this.steps++ };
    partition.steps++;
    this.put(partition, to);
  }
}

const isReady = ({ origin, young }: PlannedPartition): boolean => origin < 0 || !young;
