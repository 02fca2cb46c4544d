/** Workflow ids and task queues: built here only, by client and workflow alike. */

/** Postgres, the Temporal namespace and this prefix together are one installation. */
export const DEFAULT_PREFIX = 'muster';

const MAX_ID = 200; // the sample SQL configuration of a server allows 255 bytes

/**
 * One workflow a leader; the id is the lock. A long key is cut and told apart by its hash
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
/** The inverse of `monitorWorkflowId`; null: the id is none of a monitor. A prefix has no slash. */
export const handlerOfMonitor = (workflowId: string): string | null =>
  /^[^/]+\/monitor\/(.+)$/s.exec(workflowId)?.[1] ?? null;
export const completionWorkflowId = (prefix: string, handler: string, name: string): string =>
  `${prefix}/completion/${handler}/${name}`;
export const queuerWorkflowId = (prefix: string, queuerId: number): string => `${prefix}/queuer/${queuerId}`;
export const executionWorkflowId = (prefix: string, executionId: string): string =>
  `${prefix}/execution/${executionId}`;

/** Leaders, queuers, notifier, monitors and their local activities: any worker may run them. */
export const workflowTaskQueue = (prefix: string): string => prefix;
/** Calls of one handler: only workers whose config has the handler poll it. */
export const handlerTaskQueue = (prefix: string, handler: string): string => `${prefix}/handler/${handler}`;
/**
 * Chunks of one worker process. Its id is of this incarnation: a process that comes back polls
 * another queue.
 */
export const nodeTaskQueue = (prefix: string, nodeId: string): string => `${prefix}/node/${nodeId}`;
