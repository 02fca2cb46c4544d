import { bundleWorkflowCode, NativeConnection, Worker } from '@temporalio/worker';
import type { DataConverter } from '@temporalio/common';
import type { WorkflowBundleWithSourceMap } from '@temporalio/worker';
import { temporalAddress } from './database';
import type { TestMuster } from './muster';

const logger = { trace() {}, debug() {}, info() {}, warn() {}, error: console.error, log() {} };

export const bundleWorkflows = (workflowsPath: string): Promise<WorkflowBundleWithSourceMap> =>
  bundleWorkflowCode({ workflowsPath, logger });

export interface UserWorker {
  taskQueue: string;
  stop(): Promise<void>;
}

/**
 * The user's own worker: Muster's activities are not in it, and it replays on every workflow task.
 */
export const startUserWorker = async (
  { prefix }: Pick<TestMuster, 'prefix'>,
  workflowBundle: WorkflowBundleWithSourceMap,
  activities: object = {},
  dataConverter: DataConverter = {},
): Promise<UserWorker> => {
  const taskQueue = `${prefix}-user`;
  const connection = await NativeConnection.connect({ address: temporalAddress() });
  const worker = await Worker.create({
    connection,
    taskQueue,
    workflowBundle,
    activities,
    dataConverter,
    maxCachedWorkflows: 0,
  });
  const running = worker.run();
  return {
    taskQueue,
    stop: async () => {
      worker.shutdown();
      await running;
      await connection.close();
    },
  };
};
