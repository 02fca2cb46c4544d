import { readFileSync } from 'node:fs';
import path from 'node:path';
import { WorkflowClient } from '@temporalio/client';
import type { WorkerOptions } from '@temporalio/worker';
import { Worker } from '@temporalio/worker';
import { TurnBackOff } from '../../workers/sweeper/backOff';

/**
 * Loaded before `muster worker` (`node --require`), to see what a setting is for: other values in
 * place of the product's.
 */
export interface Overrides {
  /** Limit of workflow code's time. */
  isolateMs?: number;
  /** Every leader runs without end. */
  endless?: boolean;
  /**
   * Every leader begins in the cancellation scope of another run, as in a process whose workflow
   * code was cut off before.
   */
  foreignScope?: boolean;
  workflowTaskTimeoutMs?: number;
  workflowTasksAtOnce?: number;
  /** The sweeper wakes in every round whatever stays due: without back-off. */
  withoutBackOff?: boolean;
}

const NAME = 'MUSTER_TEST_OVERRIDES';

/** Environment of a worker process with these settings; empty ones: the product's. */
export const overriding = (overrides: Overrides): Record<string, string> => ({
  NODE_OPTIONS: `--require ${path.join(process.cwd(), 'dist', 'test', 'stops', 'preload.js')}`,
  [NAME]: JSON.stringify(overrides),
});

const LEADER = /async function leader\(input\) \{/;
const FOREIGN =
  '$& return workflow_1.CancellationScope.cancellable(() => leaderOfItsOwn(input)); } async function leaderOfItsOwn(input) {';
/** The bundle with a leader that does this first. */
const withLeader = (file: string, begins: string): { code: string } => {
  const code = readFileSync(file, 'utf8');
  if (!LEADER.test(code)) throw new Error('the bundle has no leader that could be changed');
  return { code: code.replace(LEADER, begins) };
};

const override = ({
  isolateMs,
  endless,
  foreignScope,
  workflowTaskTimeoutMs,
  workflowTasksAtOnce,
  withoutBackOff,
}: Overrides): void => {
  const create = Worker.create.bind(Worker);
  Worker.create = (options: WorkerOptions): Promise<Worker> => {
    const { workflowBundle } = options;
    const runsWorkflows = workflowBundle !== undefined && 'codePath' in workflowBundle;
    return create({
      ...options,
      ...(runsWorkflows && endless === true
        ? { workflowBundle: withLeader(workflowBundle.codePath, '$& for (;;);') }
        : {}),
      ...(runsWorkflows && foreignScope === true
        ? { workflowBundle: withLeader(workflowBundle.codePath, FOREIGN) }
        : {}),
      ...(runsWorkflows && workflowTasksAtOnce !== undefined
        ? { maxConcurrentWorkflowTaskExecutions: workflowTasksAtOnce }
        : {}),
      ...(isolateMs === undefined ? {} : { isolateExecutionTimeout: isolateMs }),
    });
  };
  if (workflowTaskTimeoutMs !== undefined) overrideTaskTimeout(workflowTaskTimeoutMs);
  if (withoutBackOff === true) TurnBackOff.prototype.mayWake = () => true;
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
