import type { Client } from '../../client';
import { isTerminal } from '../../../workflows/planning/states';
import type { TaskView } from '../../views';
import { codeOf } from './exitCodes';
import { lineGroups } from './lines';
import { progressBar } from './progress';
import type { Staged } from './spool';

export interface Waited {
  states: Record<string, number>;
  /** Failed, dead, cancelled or unknown. */
  bad: number;
  /** The first of those. */
  examples: { id: string; state: string; error?: string | null }[];
  /** Not ended when the time was up. */
  open: number;
  timedOut: boolean;
  ms: number;
}

/** What is waited for at once: bounds memory, since every task is read with its payload. */
const CHUNK = 1_000;
const MAX_ID_LINE_BYTES = 4_096;
const MAX_EXAMPLES = 10;

/** Waits for the tasks whose ids are the lines of a file, in groups: all must end, so it does not matter which is looked at first. */
export const waitForAll = async (
  client: Client,
  ids: Staged,
  total: number,
  { timeoutMs, onTask }: { timeoutMs?: number | undefined; onTask?: ((task: object) => Promise<void>) | undefined },
): Promise<Waited> => {
  const begun = performance.now();
  const waited: Waited = { states: {}, bad: 0, examples: [], open: 0, timedOut: false, ms: 0 };
  const bar = progressBar('waiting  ', total, 'tasks');
  let done = 0;
  try {
    for await (const chunk of chunksOf(ids)) {
      const leftMs =
        timeoutMs === undefined ? undefined : Math.max(0, Math.round(timeoutMs - (performance.now() - begun)));
      const before = done;
      const tasks = await ended(client, chunk, leftMs, (n) => bar.update(before + n), waited);
      done += chunk.length;
      for (const task of tasks) {
        count(waited, task);
        await onTask?.(answerOf(task));
      }
    }
  } finally {
    bar.stop();
  }
  waited.ms = Math.round(performance.now() - begun);
  return waited;
};

/** Those that have ended; all of them, unless the time is up: then what has ended by now, of this group and of the later ones. */
const ended = async (
  client: Client,
  chunk: readonly string[],
  timeoutMs: number | undefined,
  onProgress: (ended: number) => void,
  waited: Waited,
): Promise<TaskView[]> => {
  try {
    return await client.waitFor(chunk, {
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
      onProgress: (progress) => onProgress(progress.ended),
    });
  } catch (error) {
    if (codeOf(error) !== 'TIMEOUT') throw error;
    const tasks = await client.getTasks(chunk);
    const over = tasks.filter(({ state }) => isTerminal(state) || state === 'unknown');
    waited.timedOut ||= over.length < tasks.length;
    waited.open += tasks.length - over.length;
    return over;
  }
};

async function* chunksOf(ids: Staged): AsyncGenerator<string[]> {
  let chunk: string[] = [];
  for await (const { lines } of lineGroups(ids.read(), MAX_ID_LINE_BYTES))
    for (const { text } of lines) {
      chunk.push(JSON.parse(text!) as string);
      if (chunk.length < CHUNK) continue;
      yield chunk;
      chunk = [];
    }
  if (chunk.length > 0) yield chunk;
}

const count = (waited: Waited, { id, state, error }: TaskView): void => {
  waited.states[state] = (waited.states[state] ?? 0) + 1;
  if (state === 'succeeded') return;
  waited.bad++;
  if (waited.examples.length < MAX_EXAMPLES) waited.examples.push({ id, state, error });
};

/** What a program wants to know of an end; the payload is its own. */
const answerOf = ({ id, state, attempts, result, error }: TaskView): object => ({
  id,
  state,
  attempts,
  ...(result === undefined ? {} : { result }),
  ...(error == null ? {} : { error }),
});
