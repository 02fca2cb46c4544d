/** Builds workflow ids and names of task queues, for clients, workers and workflows alike. */

/**
 * The default prefix. A database, a Temporal namespace and a prefix together make one installation.
 */
export const DEFAULT_PREFIX = 'muster';

const MAX_ID = 200; // the sample SQL configuration of a server allows 255 bytes

/**
 * Returns a leader's workflow id, which is its lock. A name that is too long, or has control
 * characters, is replaced by the leader's number.
 */
export const leaderWorkflowId = (prefix: string, handler: string, name: string, leaderId: number): string => {
  const plain = `${prefix}/leader/${handler}/${name}`;
  return Buffer.byteLength(plain) <= MAX_ID && !/[\u0000-\u001f\u007f]/.test(plain)
    ? plain
    : `${prefix}/leader/${handler}/#${leaderId}`;
};
export const notifierWorkflowId = (prefix: string): string => `${prefix}/notifier`;
export const balancerWorkflowId = (prefix: string): string => `${prefix}/balancer`;
export const monitorWorkflowId = (prefix: string, handler: string): string => `${prefix}/monitor/${handler}`;
/**
 * Returns the handler that a monitor's workflow id names; null: the id is not a monitor's. A prefix
 * has no slash.
 */
export const handlerOfMonitor = (workflowId: string): string | null =>
  /^[^/]+\/monitor\/(.+)$/s.exec(workflowId)?.[1] ?? null;
export const completionWorkflowId = (prefix: string, handler: string, name: string): string =>
  `${prefix}/completion/${handler}/${name}`;
export const queuerWorkflowId = (prefix: string, queuerId: number): string => `${prefix}/queuer/${queuerId}`;
export const executionWorkflowId = (prefix: string, executionId: string): string =>
  `${prefix}/execution/${executionId}`;

/**
 * Returns the task queue of Muster's workflows and their local activities, which any worker may
 * run.
 */
export const workflowTaskQueue = (prefix: string): string => prefix;
/**
 * Returns the task queue of a handler's calls. Only workers whose config has the handler poll it.
 */
export const handlerTaskQueue = (prefix: string, handler: string): string => `${prefix}/handler/${handler}`;
/**
 * Returns the task queue of one worker process. A process that restarts has a new id and polls
 * another queue.
 */
export const nodeTaskQueue = (prefix: string, nodeId: string): string => `${prefix}/node/${nodeId}`;
