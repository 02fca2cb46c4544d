import type { Candidate } from './chunks';
import { chooseNodes, fitting, nodesAsked, nodesWanted } from './chunks';
import type { ItemCounts } from './states';
import { isOver, pendingOf } from './states';

/** The facts from which a turn of an execution decides. */
export interface TurnFacts {
  state: number;
  counts: ItemCounts;
  /** How many rounds were planned so far. */
  round: number;
  /** As in the request. */
  numberOfNodes: number | undefined;
  candidates: readonly Candidate[];
  /**
   * The roll call has lasted as long as it may: the round is given to the nodes that have answered.
   */
  rollCallOver: boolean;
  /**
   * False: the pause after the last round is not over, or the workflow is about to continue as new.
   */
  mayPlan: boolean;
  /** The chunks of a round are being filled: no other round before they are complete. */
  filling: boolean;
}

export type TurnPlan =
  | { kind: 'over' }
  | { kind: 'fill' }
  /** There is nothing to hand out, or nothing may be handed out now: wait. */
  | { kind: 'wait' }
  /** Fewer nodes than needed have answered: wait for more. */
  | { kind: 'roll-call'; answered: number; wanted: number }
  /**
   * No node answered: the execution stays as it is until a node appears, or until the requeue
   * interval has passed.
   */
  | { kind: 'no-nodes'; wanted: number }
  | { kind: 'plan'; nodes: string[] };

export const planTurn = (facts: TurnFacts): TurnPlan => {
  if (isOver(facts.state)) return { kind: 'over' };
  if (facts.filling) return { kind: 'fill' };
  const pending = pendingOf(facts.counts);
  if (pending === 0 || !facts.mayPlan) return { kind: 'wait' };
  const asked = nodesAsked(facts.numberOfNodes);
  // If every node that answers is asked, one answer is enough to begin with.
  const enough = nodesWanted(asked ?? 1, pending);
  const answered = fitting(facts.candidates).length;
  if (answered < enough && !facts.rollCallOver) return { kind: 'roll-call', answered, wanted: enough };
  if (answered === 0) return { kind: 'no-nodes', wanted: enough };
  return {
    kind: 'plan',
    nodes: chooseNodes(facts.candidates, nodesWanted(asked, pending), facts.round + 1),
  };
};

/**
 * Returns the pause before the next round in milliseconds, so that a node or function that always
 * fails is not tried in a hot loop: `baseMs` after a round with results, doubled by each of the
 * `fruitless` rounds since, and at most the requeue interval.
 */
export const roundPauseMs = (fruitless: number, baseMs: number, requeueMs: number): number =>
  Math.min(requeueMs, baseMs * 2 ** Math.min(fruitless, 30));
