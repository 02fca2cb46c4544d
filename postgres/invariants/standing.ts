import { STANDING_EXECUTIONS, STANDING_MONITORS, STANDING_NOTIFIER, STANDING_PARTITIONS } from '../sweeper/overdueWork';
import type { Invariant } from './invariant';

/**
 * Whoever has due work moves: each reads what is overdue, by an index, and names what stands still.
 */
export const standing: readonly Invariant[] = [
  {
    name: 'a monitor with overdue batches looks',
    passing: true,
    text: `select x.handler from (${STANDING_MONITORS}) x order by 1 limit 20`,
  },
  {
    name: 'a notifier with overdue notifications looks',
    passing: true,
    text: `select x.notification from (${STANDING_NOTIFIER}) x`,
  },
  {
    name: 'a partition that a node can hold is given to one in time',
    passing: true,
    text: `select distinct x.handler, x.partition from (${STANDING_PARTITIONS}) x order by 2 limit 20`,
  },
  {
    name: 'a woken execution takes a turn',
    passing: true,
    text: `select x.execution, x.run from (${STANDING_EXECUTIONS}) x order by x.execution limit 20`,
  },
];
