import type { Priority } from '@temporalio/common';

/**
 * Priority of workflows that serve many targets: their tasks go before those of leaders, of which
 * each serves a few. Otherwise, after a restart, the one queuer of all lanes waits behind the
 * replays of hundreds of leaders. Servers without priorities ignore it.
 */
export const BEFORE_LEADERS: Priority = { priorityKey: 1 };

/**
 * Priority that a server gives to what has none. For activities in a handler's task queue, which
 * would inherit that of their workflow: a lane's calls do not go before those of other targets.
 */
export const USUAL: Priority = { priorityKey: 3 };
