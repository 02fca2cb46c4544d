import { STANDING_EXECUTIONS, STANDING_MONITORS, STANDING_NOTIFIER, STANDING_PARTITIONS } from '../sweeper/overdueWork';
import { STANDING_CARRIED, STANDING_GRANTS } from '../sweeper/uncalled';
import type { Invariant } from './invariant';

/**
 * Progress: leaders, monitors and the like that have due work move. Each statement reads what is
 * overdue, by an index, and names what stands still.
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
  {
    name: 'a batch that a submitter was granted is called',
    passing: true,
    text: `select x.handler, x.batch from (${STANDING_GRANTS}) x order by x.batch limit 20`,
  },
  {
    name: 'a batch that a dispatch carries is called',
    passing: true,
    text: `select x.handler, x.leader, x.batch from (${STANDING_CARRIED}) x order by x.batch limit 20`,
  },
];
