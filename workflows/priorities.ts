import type { Priority } from '@temporalio/common';

/**
 * The priority of workflows that serve many targets: their workflow tasks go before those of
 * leaders, each of which serves a few targets. Otherwise, after a restart, the one queuer of all
 * lanes would wait behind the replays of hundreds of leaders. Servers without priorities ignore it.
 */
export const BEFORE_LEADERS: Priority = { priorityKey: 1 };

/**
 * The priority that a server gives to work without a priority. Activities would otherwise inherit
 * the priority of their workflow, and a lane's calls would go before those of other targets.
 */
export const USUAL: Priority = { priorityKey: 3 };
