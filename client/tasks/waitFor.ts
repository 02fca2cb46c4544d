import { readTaskStates } from '../../postgres/operations/taskView';
import { isTerminal, taskStateName } from '../../workflows/planning/states';
import { checkIds } from '../arguments';
import type { ClientContext, KnowingContext } from '../context';
import { chunksOf, IDS_PER_STATEMENT } from '../context';
import { InvalidArgumentError, NotFoundError, WaitTimeoutError } from '../errors';
import { getTasks } from './read';
import type { TaskView, WaitProgress } from '../views';
import type { WaitLimits } from '../waiting';
import { checkTimeout, Waiting } from '../waiting';

/** Options of `waitFor`. */
export interface WaitOptions extends WaitLimits {
  /** Called after every look, at intervals of about a second at most. */
  onProgress?: (progress: WaitProgress) => void;
}

const STATES_PER_STATEMENT = 5_000;
/**
 * Most tasks per look; each look takes the next tasks in turn. So the load of the store does not
 * grow with the number of tasks waited for.
 */
const STATES_PER_LOOK = 20_000;

export const waitFor = async (
  client: KnowingContext,
  ids: string | readonly string[],
  options: WaitOptions = {},
): Promise<TaskView[]> => {
  const wanted = checkIds('ids', ids);
  const { timeoutMs, signal, onProgress } = options;
  checkTimeout(timeoutMs);
  if (onProgress !== undefined && typeof onProgress !== 'function')
    throw new InvalidArgumentError('onProgress', 'a function', onProgress);
  signal?.throwIfAborted();
  await client.ready();
  const waiting = new Waiting(options);
  let most = Infinity; // the first look takes all tasks, so that an unknown id is reported at once
  for (let open = wanted; ; most = STATES_PER_LOOK) {
    waiting.look();
    open = (await look(client, open, most, signal)).open;
    onProgress?.({ total: wanted.length, ended: wanted.length - open.length });
    if (open.length === 0) return readAll(client, wanted);
    if (!(await waiting.again())) {
      const last = await look(client, open, Infinity, signal);
      if (last.open.length === 0) return readAll(client, wanted);
      throw new WaitTimeoutError(timeoutMs!, last.states);
    }
  }
};

/**
 * Looks at the first `most` tasks. Returns the ids of all that have not ended as far as is known,
 * those not looked at first. `states` counts the tasks looked at that have not ended, by state.
 */
const look = async (
  client: ClientContext,
  ids: readonly string[],
  most: number,
  signal: AbortSignal | undefined,
): Promise<{ open: string[]; states: Record<string, number> }> => {
  const open: string[] = [];
  const states: Record<string, number> = {};
  for (const chunk of chunksOf(ids.slice(0, most), STATES_PER_STATEMENT)) {
    signal?.throwIfAborted();
    const found = new Map((await readTaskStates(client.pool, chunk)).map((row) => [row.id, taskStateName(row.state)]));
    for (const id of chunk) {
      const state = found.get(id);
      if (state === undefined)
        throw new NotFoundError('task', id, 'It was never accepted, or it was deleted after its retention period.');
      if (isTerminal(state) || state === 'unknown') continue;
      open.push(id);
      states[state] = (states[state] ?? 0) + 1;
    }
  }
  return { open: most < ids.length ? [...ids.slice(most), ...open] : open, states };
};

const readAll = async (client: KnowingContext, ids: readonly string[]): Promise<TaskView[]> => {
  const tasks: TaskView[] = [];
  for (const chunk of chunksOf(ids, IDS_PER_STATEMENT)) tasks.push(...(await getTasks(client, chunk)));
  return tasks;
};
