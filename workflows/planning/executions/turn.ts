import type { Candidate } from './chunks';
import { chooseNodes, fitting, nodesAsked, nodesWanted } from './chunks';
import type { ItemCounts } from './states';
import { isOver, pendingOf } from './states';

/** What a turn of an execution decides from, and its decision. */
export interface TurnFacts {
  state: number;
  counts: ItemCounts;
  /** Rounds planned so far. */
  round: number;
  /** As the request has it. */
  numberOfNodes: number | undefined;
  candidates: readonly Candidate[];
  /** The roll call has lasted as long as it may: the nodes that answered are taken. */
  rollCallOver: boolean;
  /**
   * False: the pause after the last round has not passed, or the workflow is about to continue as
   * new.
   */
  mayPlan: boolean;
  /** A round is being filled: nothing new before it is complete. */
  filling: boolean;
}

export type TurnPlan =
  | { kind: 'over' }
  | { kind: 'fill' }
  /** Nothing to hand out, or not now: wait for what runs. */
  | { kind: 'wait' }
  /** Fewer nodes than asked for: more may answer. */
  | { kind: 'roll-call'; answered: number; wanted: number }
  /**
   * No node answered: it stays as it is until a node appears, or the requeue interval has passed.
   */
  | { kind: 'no-nodes'; wanted: number }
  | { kind: 'plan'; nodes: string[] };

export const planTurn = (facts: TurnFacts): TurnPlan => {
  if (isOver(facts.state)) return { kind: 'over' };
  if (facts.filling) return { kind: 'fill' };
  const pending = pendingOf(facts.counts);
  if (pending === 0 || !facts.mayPlan) return { kind: 'wait' };
  const asked = nodesAsked(facts.numberOfNodes);
  // Of every node that answers, one is enough to begin with.
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
 * Returns the pause before the next round, so that a node or a function that always fails is not
 * tried without end: the base after a round with results, doubled with each without, never above
 * the requeue interval.
 */
export const roundPauseMs = (fruitless: number, baseMs: number, requeueMs: number): number =>
  Math.min(requeueMs, baseMs * 2 ** Math.min(fruitless, 30));
