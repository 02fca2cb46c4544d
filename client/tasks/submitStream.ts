import type { TaskInput } from './checkTasks';
import type { SubmitResult } from './submitResult';

/** Tasks per transaction: larger transactions are not faster. */
const STREAM_CHUNK = 5_000;
/** Most problems that are kept, since a stream can be of any length. */
const MOST_PROBLEMS = 1_000;

/**
 * Submits a stream of any length in bounded memory: in chunks, each a separate call of `submit`.
 */
export const submitStream = async (
  tasks: AsyncIterable<TaskInput>,
  submit: (chunk: readonly TaskInput[]) => Promise<SubmitResult>,
): Promise<SubmitResult> => {
  const sum: SubmitResult = { accepted: 0, repeated: 0, refused: [], targetIds: [] };
  const targetIds = new Set<number>();
  let chunk: TaskInput[] = [];
  let offset = 0;
  const flush = async (): Promise<void> => {
    const part = await submit(chunk);
    sum.accepted += part.accepted;
    sum.repeated += part.repeated;
    for (const id of part.targetIds) targetIds.add(id);
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
  return { ...sum, targetIds: [...targetIds] };
};
