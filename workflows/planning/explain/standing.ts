import type { BatchPart, ExplainFacts, LeaderPart, Reason, RunPart } from './facts';
import { formatDuration } from '../duration';
import { count } from './format';
import { UNANSWERED_MS } from '../liveness';

/**
 * Explains what stands still, and what to do about it: a leader that was woken and takes no turn, a
 * call that is not concluded. Pure.
 */

/**
 * A process that was not seen for so long may be gone; it writes a sign of life every few seconds.
 */
const SILENT_NODE_MS = 15_000;
/** Time from the deadline to the record of the outcome. */
const JUST_PASSED_MS = 5_000;

export const standsStill = ({ unansweredMs }: Pick<LeaderPart, 'unansweredMs'>): boolean =>
  unansweredMs !== null && unansweredMs > UNANSWERED_MS;

/** Returns what is known about the run, and the remedy. */
export const remedyOf = (workflowId: string, ofLastTurn: string | null, run: RunPart | null): string => {
  const last = ofLastTurn === null ? 'it has never taken one' : `its last turn was of run ${ofLastTurn}`;
  return remedy(workflowId, `; ${last}${state(run)}`);
};

const remedy = (workflowId: string, known: string): string =>
  `Workflow ${workflowId}${known}. The sweeper of a worker wakes it again, and ends its run and begins it anew after a minute or two without a turn; if no worker is left, start one. To end the run at once: temporal workflow terminate --workflow-id "${workflowId}". Nothing is lost: the next run goes on from the store.`;

/**
 * Explains a workflow without wakes in the store: since when its work has been due without being
 * done.
 */
export const overdueText = (
  { kind, ms, workflowId }: { kind: string; ms: number; workflowId: string },
  run: RunPart | null,
): string =>
  ` The ${kind} stands still: work of it has been due for ${formatDuration(ms)}, and it has given no sign of it since. ${remedy(workflowId, state(run))}`;

const ITS_WORKER =
  'Its worker is stopped, overloaded or hangs: look at its log, its load and its /healthz, and restart it; ' +
  'if no worker is left, start one.';

/** Explains a dispatch that has batches, and does not call them. */
export const uncalledText = (
  { ms, name, workflowId }: { ms: number; name: string; workflowId: string },
  run: RunPart | null,
): string =>
  ` The dispatch stands still: it was given batch ${name} ${formatDuration(ms)} ago, and has not begun its call. ${ITS_WORKER} To have its batches taken back at once, end the run that gave them out, of workflow ${workflowId}${state(run)}: temporal workflow terminate --workflow-id "${workflowId}". Nothing is lost: the next run goes on from the store.`;

const state = (run: RunPart | null): string => {
  if (run === null) return '';
  if (run.runId === null) return ', and no run is open';
  const failed = run.lastFailure === null ? '' : `, which failed last with: ${run.lastFailure}`;
  if (run.attempt === null) return `, run ${run.runId} is open and has no workflow task: the wake did not reach it`;
  return `, the workflow task of run ${run.runId} is at attempt ${run.attempt}${failed}`;
};

/** Explains a leader that has left its wakes unanswered. */
export const waitForStanding = ({ leader }: ExplainFacts, what: string): Reason => ({
  waitsFor: 'leader',
  inMs: null,
  text: `${what} could go, but leader "${leader.name}" stands still: it was woken ${formatDuration(leader.unansweredMs!)} ago and has taken no turn since. ${remedyOf(leader.workflowId ?? `of leader "${leader.name}"`, leader.runId, leader.run ?? null)}`,
});

/** Explains a call past its deadline, which is not concluded. */
export const overdueCall = (batch: BatchPart, target: string): Reason => {
  const lateMs = -batch.attemptEndsInMs!;
  const call = `Call ${batch.attempt} of batch ${batch.id} (${count(batch.n, 'task')}) to target "${target}"`;
  if (lateMs < JUST_PASSED_MS)
    return {
      waitsFor: 'call',
      inMs: 0,
      text: `${call} has just passed its deadline; what became of it is being recorded.`,
    };
  const overdue = `${call} is overdue: its deadline passed ${formatDuration(lateMs)} ago, and it is not concluded.`;
  return { waitsFor: 'call', inMs: null, text: `${overdue} ${whoMakes(batch)}` };
};

const whoMakes = ({ attemptBy, nodeSeenMs }: BatchPart): string => {
  if (attemptBy === null) return 'Who makes it is not known.';
  const node = `Its node ${attemptBy}`;
  if (nodeSeenMs === null)
    return `${node} is gone; the leader takes the batch over when its heartbeats are missed, if a worker is there.`;
  const seen = `gave its last sign of life ${formatDuration(nodeSeenMs)} ago`;
  return nodeSeenMs < SILENT_NODE_MS
    ? `${node} ${seen}: it lives, so its handler hangs or its Temporal does not answer. Look at its log and /healthz, and restart it.`
    : `${node} ${seen}: it hangs or is gone. Restart it; the leader of another worker takes the batch over when its heartbeats are missed.`;
};
