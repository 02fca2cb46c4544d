import { ApplicationFailure, Context } from '@temporalio/activity';
import { findForeign, readTaskEnds, readValues } from '../../postgres/callbacks/taskEnd';
import type { StoredEnd } from '../../postgres/callbacks/taskEnd';
import type { TaskEnd, WorkflowSubmitAnswer, WorkflowTask } from '../../workflows/definitions';
import { TASK_STATES, taskStateName } from '../../workflows/planning/states';
import { openEnds } from '../callbacks/openMessage';
import type { ActivityDeps } from '../deps';

/**
 * The activities of `temporal-muster/workflow` for tasks in a user's own workflow. The worker
 * provides the acceptance of tasks: the checks and the acceptance of a submit belong to the client,
 * and activities do not know the client.
 */

const MOST_TASKS = 10_000;
/** Most bytes of an activity's answer: a server refuses 2 MB. */
const ANSWER_BYTES = 1_000_000;
const GROUP = 50;

export const createHelperActivities = (deps: ActivityDeps) => ({
  submitTasks: (input: { handler: string; tasks: WorkflowTask[] }): Promise<WorkflowSubmitAnswer> =>
    submitTasks(deps, input),
  readTaskEnds: ({ ids }: { ids: string[] }): Promise<TaskEnd[]> => readEnds(deps, ids),
});

/**
 * Accepts the tasks in one transaction, their ends to be reported to the calling workflow: to its
 * id, not to its run, so that it may continue as new while it waits. Repeated tasks that have ended
 * are reported at once (an earlier run may have had the signal); those whose end is reported to
 * another receiver are named.
 */
const submitTasks = async (
  deps: ActivityDeps,
  { handler: name, tasks }: { handler: string; tasks: WorkflowTask[] },
): Promise<WorkflowSubmitAnswer> => {
  const handler = handlerOf(deps.handlers, name, tasks);
  const { workflowId } = Context.current().info.workflowExecution!;
  const accepted = await deps.acceptTasks(handler, tasks, { workflowId });
  if ('problem' in accepted) throw invalidTask(accepted.problem);
  if (accepted.repeated === 0) return { ends: [], foreign: [] };
  const ids = tasks.map((task) => task.id);
  const foreign = await findForeign(deps.pool, ids, workflowId);
  const ends = await readEnds(deps, ids);
  const ended = new Set(ends.map((end) => end.id));
  return { ends, foreign: foreign.filter((id) => !ended.has(id)) };
};

/** Returns the handler of these tasks; throws the refusal of another one, or of too many tasks. */
export const handlerOf = <T>(handlers: ReadonlyMap<string, T>, name: string, tasks: readonly WorkflowTask[]): T => {
  const handler = handlers.get(name);
  const known = [...handlers.keys()].map((one) => `"${one}"`).join(', ');
  if (handler === undefined)
    throw refused(
      'MusterUnknownHandler',
      `handler: expected one of ${known}, got "${name}". Add it to the config of every worker.`,
    );
  if (tasks.length > MOST_TASKS)
    throw invalidTask(`tasks: expected at most ${MOST_TASKS} in one call, got ${tasks.length}`);
  return handler;
};

/** Returns the refusal of tasks that break a rule. */
export const invalidTask = (problem: string): ApplicationFailure => refused('MusterInvalidTask', problem);

const refused = (type: string, message: string): ApplicationFailure =>
  ApplicationFailure.create({ type, message, nonRetryable: true });

/**
 * Returns those of the tasks that have ended (or are parked), in order, with their results as far
 * as 1 MB goes, the first ones first.
 */
const readEnds = async (deps: ActivityDeps, ids: readonly string[]): Promise<TaskEnd[]> => {
  const place = new Map(ids.map((id, i) => [id, i]));
  const ended = (await readTaskEnds(deps.pool, ids))
    .filter((end) => end.state >= TASK_STATES.unknown)
    .sort((a, b) => place.get(a.id)! - place.get(b.id)!);
  const ends: TaskEnd[] = [];
  const budget = { bytes: ANSWER_BYTES };
  for (let i = 0; i < ended.length; i += GROUP) {
    const group = ended.slice(i, i + GROUP);
    // All of a group in one go; if they do not fit, one by one, so that one large value does not
    // cost the others theirs.
    const together = await resultsOf(deps, group, budget.bytes);
    for (const end of group) {
      const results = together ?? (await resultsOf(deps, [end], budget.bytes));
      const result = results?.get(end.id);
      if (result !== undefined) budget.bytes -= Buffer.byteLength(result.json);
      ends.push(toTaskEnd(end, result, results === null));
    }
  }
  return deps.workflowSealer === null ? ends : openEnds(deps.workflowSealer, ends);
};

/** JSON text, and which part of it could not be kept. */
interface EndResult {
  json: string;
  note: string | null;
}

/** Returns results by task id; null: they are more than that many bytes. */
const resultsOf = async (
  deps: ActivityDeps,
  ends: readonly StoredEnd[],
  maxBytes: number,
): Promise<Map<string, EndResult> | null> => {
  const placed = ends.filter((end) => end.result === null && end.batchId !== null && end.place !== null);
  const places = placed.map((end) => ({ batchId: end.batchId!, attempt: end.attempt!, place: end.place! }));
  const values = await readValues(deps.pool, places, maxBytes);
  if (values === null) return null;
  const byPlace = new Map(
    values.map(({ batchId, place, value, note }) => [`${batchId}/${place}`, { json: value, note }]),
  );
  const results = new Map<string, EndResult>();
  for (const end of ends) {
    const result = end.result === null ? byPlace.get(`${end.batchId}/${end.place}`) : { json: end.result, note: null };
    if (result !== undefined) results.set(end.id, result);
  }
  const bytes = [...results.values()].reduce((sum, { json }) => sum + Buffer.byteLength(json), 0);
  return bytes > maxBytes ? null : results;
};

const toTaskEnd = ({ id, state, error }: StoredEnd, result: EndResult | undefined, omitted: boolean): TaskEnd => ({
  id,
  state: taskStateName(state) as TaskEnd['state'],
  ...(result === undefined ? {} : { result: JSON.parse(result.json) as unknown }),
  ...(result === undefined || result.note === null ? {} : { resultNote: result.note }),
  ...(error === null || state === TASK_STATES.succeeded ? {} : { error }),
  ...(omitted ? { resultOmitted: true as const } : {}),
});
