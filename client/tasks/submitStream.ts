import type { TaskProblem } from '../errors';
import type { TaskInput } from './checkTasks';
import type { Stored } from './submitResult';

/** Tasks per transaction: larger transactions are not faster. */
const STREAM_CHUNK = 5_000;
/** Most problems that are kept, since a stream can be of any length. */
const MOST_PROBLEMS = 1_000;

/**
 * Submits a stream of any length, in chunks, each a separate call of `submit`. Of what went before
 * only the ids of targets and lanes are kept in memory, and the first problems.
 */
export const submitStream = async (
  tasks: AsyncIterable<TaskInput>,
  submit: (chunk: readonly TaskInput[]) => Promise<Stored>,
): Promise<Stored> => {
  const sum = { accepted: 0, repeated: 0, refused: [] as TaskProblem[] };
  const [targetIds, laneIds] = [new Set<number>(), new Set<number>()];
  let hasDependents = false;
  let chunk: TaskInput[] = [];
  let offset = 0;
  const flush = async (): Promise<void> => {
    const part = await submit(chunk);
    sum.accepted += part.accepted;
    sum.repeated += part.repeated;
    for (const id of part.rung.targetIds) targetIds.add(id);
    for (const id of part.rung.laneIds) laneIds.add(id);
    hasDependents ||= part.rung.hasDependents;
    for (const problem of part.refused)
      if (sum.refused.length < MOST_PROBLEMS) sum.refused.push({ ...problem, index: problem.index + offset });
    offset += chunk.length;
    chunk = [];
  };
  for await (const task of tasks) {
    chunk.push(task);
    if (chunk.length >= STREAM_CHUNK) await flush();
  }
  if (chunk.length > 0) await flush();
  return { ...sum, rung: { targetIds: [...targetIds], laneIds: [...laneIds], hasDependents } };
};
