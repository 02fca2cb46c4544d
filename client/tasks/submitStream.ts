import type { TaskInput } from './checkTasks';
import type { SubmitResult } from './submitResult';

/** Tasks of one transaction: from here on a bigger one is no faster. */
const STREAM_CHUNK = 5_000;
/** More problems than these are not kept: a stream may be of any length. */
const MOST_PROBLEMS = 1_000;

/** A stream of any length in chunks, each a call of its own, in bounded memory. */
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
