import { executionWorkflowId } from '../../workflows/naming';
import { functionsOf } from '../executions/functions';
import { eventually } from '../helpers/eventually';
import type { TestMuster } from '../helpers/muster';
import type { Scenario } from './scenarios';

/** Paths of executions that a stored history must cover. */

const tried = new Set<string>();
const once = (id: string): boolean => !tried.has(id) && tried.add(id) !== undefined;

const executions = {
  ...functionsOf({
    echo: (args) => args.join(' '),
    twice: ([id]) => ({ exitCode: once(id!) ? 1 : 0 }),
    waits: (_, { signal }) =>
      new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('aborted')))),
  }),
  rollCallMs: 300,
  retryBaseMs: 50,
  leaseMs: 1_500,
};
const start = (muster: TestMuster, functionId: string, items: number, config = {}) =>
  muster.client.execute(
    { functionId, method: 'run', config },
    Array.from({ length: items }, (_, i) => [`${functionId}-${i}`]),
  );

export const executionScenarios: Scenario[] = [
  {
    name: 'execution-done',
    handler: {},
    executions,
    run: async (muster) => (await start(muster, 'echo', 5)).wait({ timeoutMs: 60_000 }),
  },
  {
    name: 'execution-retry',
    handler: {},
    executions,
    run: async (muster) => (await start(muster, 'twice', 3)).wait({ timeoutMs: 60_000 }),
  },
  {
    // Fewer nodes than asked for, one of which takes nothing.
    name: 'execution-undelivered',
    handler: {},
    executions,
    run: async (muster) => {
      await muster.database.pool.query(
        `insert into node (id, task_queue, functions, batch, started_at, seen_at) values ('ghost', '', '{echo}', true, clock(), clock() + interval '1 hour')`,
      );
      const execution = await start(muster, 'echo', 6, { numberOfNodes: 3 });
      await eventually(async () => (await execution.status()).message?.includes('ghost'));
      await muster.database.pool.query(`delete from node where id = 'ghost'`);
      return execution.wait({ timeoutMs: 60_000 });
    },
  },
  {
    name: 'execution-no-nodes-and-cancel',
    handler: {},
    executions,
    run: async (muster) => {
      const execution = await start(muster, 'echo', 2, { attributes: { zone: 'none' } });
      await eventually(async () => (await execution.status()).message?.startsWith('no node'));
      await execution.cancel();
    },
  },
  {
    name: 'execution-cancel-while-running',
    handler: {},
    executions,
    run: async (muster) => {
      const execution = await start(muster, 'waits', 2);
      await eventually(async () => (await execution.chunks()).some(({ state }) => state === 'taken'));
      await execution.cancel();
    },
  },
  {
    name: 'execution-continue-as-new',
    handler: {},
    executions,
    run: async (muster) => {
      const { storeExecution } = await import('../../client/executions/execute.js');
      const lists = Array.from({ length: 2 }, (_, i) => [`can-${i}`]);
      const { id } = await storeExecution(muster.database.pool, { functionId: 'twice', method: 'run' }, lists, {});
      await (
        await muster.client.temporal()
      ).workflow.start('execution', {
        workflowId: executionWorkflowId(muster.prefix, id),
        taskQueue: muster.prefix,
        args: [{ executionId: id, resumeAfterMs: 200, turnsPerRun: 1 }],
      });
      await muster.client.execution(id).wait({ timeoutMs: 60_000 });
    },
  },
];
