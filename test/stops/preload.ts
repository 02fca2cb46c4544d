import { readFileSync } from 'node:fs';
import path from 'node:path';
import { WorkflowClient } from '@temporalio/client';
import type { WorkerOptions } from '@temporalio/worker';
import { Worker } from '@temporalio/worker';
import { Silence } from '../../workers/sweeper/backOff';

/**
 * Loaded before `muster worker` (`node --require`), to see what a setting is for: other values in
 * place of the product's.
 */
export interface Overrides {
  /** Limit of workflow code's time. */
  isolateMs?: number;
  /** Every leader runs for ever. */
  endless?: boolean;
  workflowTaskTimeoutMs?: number;
  workflowTasksAtOnce?: number;
  /** The sweeper wakes in every round whatever stays due. */
  impatient?: boolean;
}

const NAME = 'MUSTER_TEST_OVERRIDES';

/** Environment of a worker process with these settings; empty ones: the product's. */
export const overriding = (overrides: Overrides): Record<string, string> => ({
  NODE_OPTIONS: `--require ${path.join(process.cwd(), 'dist', 'test', 'stops', 'preload.js')}`,
  [NAME]: JSON.stringify(overrides),
});

const LEADER = /async function leader\(input\) \{/;
const endlessly = (code: string): string => {
  if (!LEADER.test(code)) throw new Error('the bundle has no leader that could be changed');
  return code.replace(LEADER, '$& for (;;);');
};

const override = ({ isolateMs, endless, workflowTaskTimeoutMs, workflowTasksAtOnce, impatient }: Overrides): void => {
  const create = Worker.create.bind(Worker);
  Worker.create = (options: WorkerOptions): Promise<Worker> => {
    const { workflowBundle } = options;
    const runsWorkflows = workflowBundle !== undefined && 'codePath' in workflowBundle;
    return create({
      ...options,
      ...(runsWorkflows && endless === true
        ? { workflowBundle: { code: endlessly(readFileSync(workflowBundle.codePath, 'utf8')) } }
        : {}),
      ...(runsWorkflows && workflowTasksAtOnce !== undefined
        ? { maxConcurrentWorkflowTaskExecutions: workflowTasksAtOnce }
        : {}),
      ...(isolateMs === undefined ? {} : { isolateExecutionTimeout: isolateMs }),
    });
  };
  if (workflowTaskTimeoutMs !== undefined) overrideTaskTimeout(workflowTaskTimeoutMs);
  if (impatient === true) Silence.prototype.mayWake = () => true;
};

/** In the process that starts runs: the workers, and the client of a test. */
export const overrideTaskTimeout = (workflowTaskTimeout: number): void => {
  const start = WorkflowClient.prototype.signalWithStart;
  WorkflowClient.prototype.signalWithStart = function (this: WorkflowClient, type: string, options: object) {
    return start.call(this, type, { ...options, workflowTaskTimeout } as Parameters<typeof start>[1]);
  } as typeof start;
};

const given = process.env[NAME];
if (given !== undefined) override(JSON.parse(given) as Overrides);
