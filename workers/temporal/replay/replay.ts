import { Worker } from '@temporalio/worker';
import type { WorkflowBundleOption } from '@temporalio/worker';
import { workerDataConverter } from '../dataConverter';
import { ISOLATE_LIMIT } from '../isolate';
import type { TemporalPlugs } from '../plugs';
import type { RunHistory } from './runs';

/** A run whose history today's code does not replay. */
export interface Divergence {
  workflowId: string;
  runId: string;
  /** Of the workflow. */
  type: string;
  /** What differs, in the SDK's words. */
  error: string;
}

/** What a replay found. */
export interface Replayed {
  /** No run diverged. */
  ok: boolean;
  runs: number;
  /** Runs by the type of their workflow. */
  types: Record<string, number>;
  diverged: Divergence[];
}

export interface ReplayOptions extends TemporalPlugs {
  workflowBundle: WorkflowBundleOption;
  /** Called after each run with how many there were. */
  onRun?: (runs: number) => void;
}

/**
 * Replays histories on a bundle of workflows, one after another; nothing is called and nothing
 * written. Runs whose first workflow task has not ended are left out: they have made no decision.
 * Rejects if the histories cannot be read, or the workflows not be loaded.
 */
export const replay = async (
  histories: AsyncIterable<RunHistory> | Iterable<RunHistory>,
  { workflowBundle, onRun, dataConverter }: ReplayOptions,
): Promise<Replayed> => {
  const types = new Map<string, string>();
  const answer: Replayed = { ok: true, runs: 0, types: {}, diverged: [] };
  const options = {
    ...ISOLATE_LIMIT,
    workflowBundle,
    dataConverter: workerDataConverter(dataConverter),
    replayName: 'muster-replay',
  };
  for await (const { workflowId, runId, error } of Worker.runReplayHistories(options, decided(histories, types))) {
    const type = types.get(runId) ?? 'unknown';
    answer.runs++;
    answer.types[type] = (answer.types[type] ?? 0) + 1;
    if (error !== undefined) answer.diverged.push({ workflowId, runId, type, error: error.message });
    onRun?.(answer.runs);
  }
  return { ...answer, ok: answer.diverged.length === 0 };
};

/** Passes on the histories with a decision in them, and notes the type of each run. */
async function* decided(
  histories: AsyncIterable<RunHistory> | Iterable<RunHistory>,
  types: Map<string, string>,
): AsyncGenerator<RunHistory> {
  for await (const one of histories) {
    const events = one.history.events ?? [];
    const started = events[0]?.workflowExecutionStartedEventAttributes;
    if (!events.some((event) => event.workflowTaskCompletedEventAttributes != null)) continue;
    types.set(started?.originalExecutionRunId ?? '', started?.workflowType?.name ?? 'unknown');
    yield one;
  }
}
