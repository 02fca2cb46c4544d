import { endedIn, type StateCounts, statesOf } from '../../examples/demo/states';
import type { Handler } from '../../handlers';
import { TASK_STATES, type TaskState } from '../../workflows/planning/states';
import { eventually } from '../helpers/eventually';
import type { TestMuster } from '../helpers/muster';
import { startMuster } from '../helpers/muster';
import { distPath } from './paths';

export interface TaskEnd {
  state: TaskState;
  attempts: number;
  error: string | null;
}

const NAMES = Object.fromEntries(Object.entries(TASK_STATES).map(([name, number]) => [number, name as TaskState]));

/**
 * A Muster in this process with an example's handlers. The bundle of the build is used: bundling
 * anew takes seconds a start.
 */
export const startWith = (handlers: readonly Handler[]): Promise<TestMuster> =>
  startMuster(handlers, { workflowBundle: { codePath: distPath('workers/workflow-bundle.js') } });

/** Waits until `count` tasks have ended (or, with `unknown`, are parked); answers all counts. */
export function untilEnded(muster: TestMuster, count: number, timeoutMs = 40_000): Promise<StateCounts> {
  const read = () => statesOf(muster.database.pool);
  return eventually(
    async () => {
      const states = await read();
      return endedIn(states) + states.unknown >= count ? states : null;
    },
    { timeoutMs, everyMs: 100, what: async () => `${count} tasks to end; states: ${JSON.stringify(await read())}` },
  );
}

/** State, attempts and error of every task, by id, straight from the store. */
export async function taskEnds(muster: TestMuster): Promise<Map<string, TaskEnd>> {
  const { rows } = await muster.database.pool.query<{
    id: string;
    state: number;
    attempts: number;
    error: string | null;
  }>({
    text: `select s.id, s.state, s.attempts, coalesce(o.error, b.error) as error
      from task_state s left join outcome o on o.seq = s.seq left join batch b on b.id = s.batch_id`,
  });
  return new Map(rows.map(({ id, state, ...rest }) => [id, { state: NAMES[state] ?? 'created', ...rest }]));
}

/** Only the states that occur. */
export const present = (states: StateCounts): Partial<StateCounts> =>
  Object.fromEntries(Object.entries(states).filter(([, count]) => count > 0));
