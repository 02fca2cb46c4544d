import type { Pool } from '../../postgres/pool';
import { TASK_STATES, type TaskState } from '../../workflows/planning/states';

export type StateCounts = Record<TaskState, number>;

const NAMES = Object.fromEntries(Object.entries(TASK_STATES).map(([name, number]) => [number, name as TaskState]));

/** How many tasks are in each state, in one snapshot of the store. */
export async function statesOf(pool: Pool): Promise<StateCounts> {
  const { rows } = await pool.query<{ state: number; count: number }>({
    name: 'demo_states',
    text: 'select state, sum(n)::int as count from state_count group by state',
  });
  const counts = Object.fromEntries(Object.keys(TASK_STATES).map((name) => [name, 0])) as StateCounts;
  for (const { state, count } of rows) {
    const name = NAMES[state];
    if (name !== undefined) {
      counts[name] += count;
    }
  }
  return counts;
}

/** Those that nothing more happens to. */
export function endedIn(counts: StateCounts): number {
  return counts.succeeded + counts.failed + counts.dead + counts.cancelled;
}
