import type { Priority } from '@temporalio/common';

/**
 * Priority of workflows that serve many targets: their tasks go before those of leaders, each of
 * which serves a few. Otherwise, after a restart, the one queuer of all lanes waits behind the
 * replays of hundreds of leaders. Servers without priorities ignore it.
 */
export const BEFORE_LEADERS: Priority = { priorityKey: 1 };

/**
 * The priority that a server gives to work without one. Activities in a handler's task queue would
 * inherit the priority of their workflow: with this one, a lane's calls do not go before those of
 * other targets.
 */
export const USUAL: Priority = { priorityKey: 3 };
