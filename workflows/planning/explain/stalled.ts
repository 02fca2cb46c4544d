import type { BatchPart, ExplainFacts, LeaderPart, Reason, RunPart } from './facts';
import { formatDuration } from '../duration';
import { count } from './format';
import { UNANSWERED_MS } from '../liveness';

/**
 * Explains what has stalled, with the remedy: a leader that takes no turn although it was woken, a
 * call without a recorded outcome. Pure.
 */

/**
 * A process that has sent no heartbeat for this long may be gone: it sends one every few seconds.
 */
const SILENT_NODE_MS = 15_000;
/** How long it may take after the deadline until the outcome is recorded. */
const JUST_PASSED_MS = 5_000;

export const isStalled = ({ unansweredMs }: Pick<LeaderPart, 'unansweredMs'>): boolean =>
  unansweredMs !== null && unansweredMs > UNANSWERED_MS;

/**
 * Returns what is known about the workflow and its run, and the remedy. `ofLastTurn`: the run of
 * the last turn.
 */
export const remedyOf = (workflowId: string, ofLastTurn: string | null, run: RunPart | null): string => {
  const last = ofLastTurn === null ? 'it has never taken a turn' : `its last turn was in run ${ofLastTurn}`;
  return remedy(workflowId, `; ${last}${state(run)}`);
};

const remedy = (workflowId: string, known: string): string =>
  `Workflow ${workflowId}${known}. A worker's sweeper wakes it again, and restarts its run after a ` +
  'minute or two without a turn; if no worker is running, start one. To end the run immediately: ' +
  `temporal workflow terminate --workflow-id "${workflowId}". Nothing is lost: the next run ` +
  'continues from the store.';

/**
 * Explains a stalled workflow whose wakes the store does not record: by how long its work has been
 * due.
 */
export const overdueText = (
  { kind, ms, workflowId }: { kind: string; ms: number; workflowId: string },
  run: RunPart | null,
): string =>
  ` The ${kind} has stalled: its work has been due for ${formatDuration(ms)} without progress. ${remedy(workflowId, state(run))}`;

const ITS_WORKER =
  'Its worker is stopped, overloaded or hanging: check its log, its load and its /healthz, and restart it; ' +
  'if no worker is running, start one.';

/** Explains a dispatch that has received batches but does not send them. */
export const uncalledText = (
  { ms, name, workflowId }: { ms: number; name: string; workflowId: string },
  run: RunPart | null,
): string =>
  ` The dispatch has stalled: it received batch ${name} ${formatDuration(ms)} ago and has not ` +
  `started its call. ${ITS_WORKER} To take its batches back immediately, end the run that assigned ` +
  `them, of workflow ${workflowId}${state(run)}: temporal workflow terminate --workflow-id ` +
  `"${workflowId}". Nothing is lost: the next run continues from the store.`;

const state = (run: RunPart | null): string => {
  if (run === null) return '';
  if (run.runId === null) return ', and no run is open';
  const failed = run.lastFailure === null ? '' : `, which failed last with: ${run.lastFailure}`;
  if (run.attempt === null) return `, run ${run.runId} is open and has no workflow task: the wake did not reach it`;
  return `, the workflow task of run ${run.runId} is at attempt ${run.attempt}${failed}`;
};

/** Explains a leader that has not answered its wakes. */
export const waitForStalled = ({ leader }: ExplainFacts, what: string): Reason => ({
  waitsFor: 'leader',
  inMs: null,
  text:
    `${what} is ready, but leader "${leader.name}" has stalled: it was woken ` +
    `${formatDuration(leader.unansweredMs!)} ago and has taken no turn since. ` +
    `${remedyOf(leader.workflowId ?? `of leader "${leader.name}"`, leader.runId, leader.run ?? null)}`,
});

/** Explains a call that is past its deadline and not concluded. */
export const overdueCall = (batch: BatchPart, target: string): Reason => {
  const lateMs = -batch.attemptEndsInMs!;
  const call = `Call ${batch.attempt} of batch ${batch.id} (${count(batch.n, 'task')}) to target "${target}"`;
  if (lateMs < JUST_PASSED_MS)
    return {
      waitsFor: 'call',
      inMs: 0,
      text: `${call} has just passed its deadline; its outcome is being recorded.`,
    };
  const overdue = `${call} is overdue: its deadline passed ${formatDuration(lateMs)} ago, and it has no recorded outcome.`;
  return { waitsFor: 'call', inMs: null, text: `${overdue} ${whoMakes(batch)}` };
};

const whoMakes = ({ attemptBy, nodeSeenMs }: BatchPart): string => {
  if (attemptBy === null) return 'The node that makes it is not known.';
  const node = `Its node ${attemptBy}`;
  if (nodeSeenMs === null)
    return `${node} is gone; the leader takes the batch over once heartbeats are missed, provided a worker is running.`;
  const seen = `sent its last heartbeat ${formatDuration(nodeSeenMs)} ago`;
  return nodeSeenMs < SILENT_NODE_MS
    ? `${node} ${seen}: the node is alive, so its handler hangs or Temporal does not answer it. Check its log and /healthz, and restart it.`
    : `${node} ${seen}: the node hangs or is gone. Restart it; a leader on another worker takes the batch over once heartbeats are missed.`;
};
