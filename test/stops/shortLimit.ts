import { readFileSync } from 'node:fs';
import type { WorkerOptions } from '@temporalio/worker';
import { Worker } from '@temporalio/worker';

/**
 * Loaded before `muster worker` (`node --require`), to see what the limit of workflow code's time is for: lowers it to so many milliseconds,
 * and, where it is asked for, lets every leader run for ever.
 */
export interface ShortLimit {
  isolateMs: number;
  endless: boolean;
}

const { isolateMs, endless } = JSON.parse(process.env['MUSTER_TEST_SHORT_LIMIT']!) as ShortLimit;
const create = Worker.create.bind(Worker);
Worker.create = (options: WorkerOptions): Promise<Worker> => {
  const { workflowBundle } = options;
  const loops =
    endless && workflowBundle !== undefined && 'codePath' in workflowBundle
      ? { workflowBundle: { code: endlessly(readFileSync(workflowBundle.codePath, 'utf8')) } }
      : {};
  return create({ ...options, ...loops, ...{ isolateExecutionTimeout: isolateMs } });
};

const LEADER = /async function leader\(input\) \{/;
const endlessly = (code: string): string => {
  if (!LEADER.test(code)) throw new Error('the bundle has no leader that could be changed');
  return code.replace(LEADER, '$& for (;;);');
};
