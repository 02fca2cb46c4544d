/** Workflow ids and task queues: built only here, for client and workflow alike. */

/** Postgres, the Temporal namespace and this prefix together are one installation. */
export const DEFAULT_PREFIX = 'muster';

const MAX_ID = 200; // the sample SQL configuration of a server allows 255 bytes

/**
 * Returns a leader's workflow id, which is its lock. A long key is cut and told apart by its hash
 * (`leaderId` is unique anyway).
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
 * Returns the handler of a monitor's workflow id; null: the id is not a monitor's. A prefix has no
 * slash.
 */
export const handlerOfMonitor = (workflowId: string): string | null =>
  /^[^/]+\/monitor\/(.+)$/s.exec(workflowId)?.[1] ?? null;
export const completionWorkflowId = (prefix: string, handler: string, name: string): string =>
  `${prefix}/completion/${handler}/${name}`;
export const queuerWorkflowId = (prefix: string, queuerId: number): string => `${prefix}/queuer/${queuerId}`;
export const executionWorkflowId = (prefix: string, executionId: string): string =>
  `${prefix}/execution/${executionId}`;

/**
 * Returns the queue of leaders, queuers, notifier, monitors and their local activities: any worker
 * may run them.
 */
export const workflowTaskQueue = (prefix: string): string => prefix;
/** Returns the queue of one handler's calls: only workers whose config has the handler poll it. */
export const handlerTaskQueue = (prefix: string, handler: string): string => `${prefix}/handler/${handler}`;
/**
 * Returns the queue of one worker process. Its id is of this incarnation: a process that comes back
 * polls another queue.
 */
export const nodeTaskQueue = (prefix: string, nodeId: string): string => `${prefix}/node/${nodeId}`;
