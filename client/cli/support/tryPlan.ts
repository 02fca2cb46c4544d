import type { Handler } from '../../../handlers';
import { batchLimitsOf } from '../../../handlers/settings';
import { cutBatches } from '../../../workflows/planning/grouping/batches';
import { mostCollected } from '../../../workflows/planning/grouping/coalescing';
import type { CutBatch, WaitingTask } from '../../../workflows/planning/calls/plans';

/** A batch that would be formed, with its tasks as line numbers. */
export interface TryBatch extends CutBatch {
  target: string;
}
export interface TryTask extends WaitingTask {
  /** Lower goes first. */
  priority: number;
}

const ONE_DAY_LATER_MS = 86_400_000;

/**
 * Returns the batches that these tasks, given by target, would form if they all arrived at once and
 * none later. Pure.
 */
export const planBatches = (handler: Handler, byTarget: ReadonlyMap<string, TryTask[]>): TryBatch[] => {
  const batches: TryBatch[] = [];
  for (const [target, tasks] of byTarget) {
    let waiting: readonly WaitingTask[] = tasks.toSorted((a, b) => a.priority - b.priority || a.seq - b.seq);
    // Tasks with the same `distinctBy` key go one after the other, so that each round has what may
    // be in flight at once.
    while (waiting.length > 0) {
      const cut = cutAll(handler, waiting);
      batches.push(...cut.map((batch) => ({ ...batch, target })));
      const gone = new Set(cut.flatMap(({ seqs, superseded = [] }) => [...seqs, ...superseded.map(({ seq }) => seq)]));
      waiting = waiting.filter((task) => !gone.has(task.seq));
    }
  }
  return batches;
};

const cutAll = (handler: Handler, tasks: readonly WaitingTask[]): CutBatch[] => {
  const { perTarget = Infinity, perHandler = Infinity } = handler.limits.maxWeightInFlight;
  const budget = Math.min(perTarget, perHandler);
  return cutBatches(
    {
      tasks,
      more: false,
      limits: batchLimitsOf(handler),
      flushSeq: null,
      busyKeys: new Map(),
      maxBatches: Infinity,
      weightLeft: Infinity,
      ...(Number.isFinite(budget) ? { weightBudget: budget } : {}),
      ...(handler.coalesceBy === undefined ? {} : { mostCollected: mostCollected(handler.limits.maxItems) }),
    },
    handler.linger.lingerMs + ONE_DAY_LATER_MS,
  ).batches;
};
