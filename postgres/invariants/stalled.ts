import { STALLED_EXECUTIONS, STALLED_MONITORS, STALLED_NOTIFIER, STALLED_PARTITIONS } from '../sweeper/overdueWork';
import { STALLED_CARRIED, STALLED_GRANTS } from '../sweeper/uncalled';
import type { Invariant } from './invariant';

/**
 * Progress: leaders, monitors and the like that have due work move. Each statement reads what is
 * overdue, by an index, and names what has stalled.
 */
export const stalled: readonly Invariant[] = [
  {
    name: 'a monitor with overdue batches looks',
    passing: true,
    text: `select x.handler from (${STALLED_MONITORS}) x order by 1 limit 20`,
  },
  {
    name: 'a notifier with overdue notifications looks',
    passing: true,
    text: `select x.notification from (${STALLED_NOTIFIER}) x`,
  },
  {
    name: 'a partition that a node can hold is given to one in time',
    passing: true,
    text: `select distinct x.handler, x.partition from (${STALLED_PARTITIONS}) x order by 2 limit 20`,
  },
  {
    name: 'a woken execution takes a turn',
    passing: true,
    text: `select x.execution, x.run from (${STALLED_EXECUTIONS}) x order by x.execution limit 20`,
  },
  {
    name: 'a batch that a submitter was granted is called',
    passing: true,
    text: `select x.handler, x.batch from (${STALLED_GRANTS}) x order by x.batch limit 20`,
  },
  {
    name: 'a batch that a dispatch carries is called',
    passing: true,
    text: `select x.handler, x.leader, x.batch from (${STALLED_CARRIED}) x order by x.batch limit 20`,
  },
];
