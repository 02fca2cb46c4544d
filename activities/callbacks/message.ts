import type { TaskEnd, TasksEnded } from '../../workflows/definitions';
import type { Pool } from '../../postgres/pool';
import type { StoredValue } from '../../postgres/callbacks/taskEnd';
import { readTaskEnds, readValues } from '../../postgres/callbacks/taskEnd';

/** A message with more results than this carries none of them. */
const RESULT_BYTES = 32_768;

/**
 * Returns the message with the values that the downstream gave for its tasks, if they are below 32
 * KiB in all; otherwise without them, and says so. They are read at delivery, so that the settling
 * transaction writes each value once.
 */
export const withResults = async (
  pool: Pool,
  message: TasksEnded,
  batchId: number | null,
  attempt: number | null,
): Promise<TasksEnded> => {
  if (batchId === null || attempt === null) return message; // ended by hand: its results are in it
  const asked = message.tasks.filter(
    (task) => task.result === undefined && (task.state === 'succeeded' || task.state === 'failed'),
  );
  const ends = await readTaskEnds(
    pool,
    asked.map((task) => task.id),
  );
  // A task that was redriven since then has another batch by now: this message is about this batch.
  const placed = ends.filter((end) => end.batchId === batchId && end.attempt === attempt && end.place !== null);
  const values = await readValues(
    pool,
    placed.map((end) => ({ batchId, attempt, place: end.place! })),
    RESULT_BYTES - 1,
  );
  if (values === null) return { ...message, resultsOmitted: true };
  const byPlace = new Map(values.map((value) => [value.place, value]));
  const byId = new Map(placed.map((end) => [end.id, byPlace.get(end.place!)]));
  return { ...message, tasks: message.tasks.map((task) => withResult(task, byId.get(task.id))) };
};

const withResult = (task: TaskEnd, stored: StoredValue | undefined): TaskEnd =>
  stored === undefined ? task : { ...task, result: JSON.parse(stored.value) as unknown, ...noteOf(stored) };

const noteOf = ({ note }: StoredValue): Pick<TaskEnd, 'resultNote'> => (note === null ? {} : { resultNote: note });

/**
 * Splits the message into parts of about `maxBytes` of JSON at most, each complete in itself, tasks
 * in order; a single task is never split.
 */
export const partsOf = (message: TasksEnded, maxBytes: number): TasksEnded[] => {
  const parts: TasksEnded[] = [];
  let tasks: TaskEnd[] = [];
  let bytes = 0;
  for (const task of message.tasks) {
    const size = Buffer.byteLength(JSON.stringify(task)) + 1;
    if (tasks.length > 0 && bytes + size > maxBytes) {
      parts.push({ ...message, tasks });
      tasks = [];
      bytes = 0;
    }
    tasks.push(task);
    bytes += size;
  }
  parts.push({ ...message, tasks });
  return parts;
};
