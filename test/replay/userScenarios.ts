import type { TestMuster } from '../helpers/muster';
import { bundleWorkflows, startUserWorker } from '../helpers/userWorker';
import type { Scenario } from './scenarios';

/** Workflows of a user, who has `temporal-muster/workflow` in a worker with its own bundle. */
export const USER_WORKFLOWS = require.resolve('../services/workflows/user');

const run =
  (workflow: string, args: unknown[], before: (muster: TestMuster) => Promise<unknown> = () => Promise.resolve()) =>
  async (muster: TestMuster): Promise<void> => {
    const worker = await startUserWorker(muster, await bundleWorkflows(USER_WORKFLOWS));
    try {
      await before(muster);
      const temporal = await muster.client.temporal();
      await temporal.workflow.execute(workflow, {
        workflowId: `${muster.prefix}/user/${workflow}`,
        taskQueue: worker.taskQueue,
        args: ['recorded', ...args, { n: 0 }, { prefix: muster.prefix }],
      });
    } finally {
      await worker.stop();
    }
  };
const several = ['t-0', 't-1', 't-2'];

const stories: Scenario[] = [
  { name: 'user-one', handler: {}, run: run('one', ['t-0']) },
  { name: 'user-in-turn', handler: {}, run: run('inTurn', [several]) },
  { name: 'user-side-by-side', handler: {}, run: run('sideBySide', [several]) },
  {
    // Submitted by another: the workflow asks.
    name: 'user-foreign',
    handler: {},
    run: run('inTurn', [['t-0', 't-1']], ({ client }) =>
      client.submit('recorded', { id: 't-0', payload: { n: 0 }, notBefore: Date.now() + 2_500 }),
    ),
  },
  { name: 'user-continued', handler: { linger: { lingerMs: 1_500 } }, run: run('continued', ['t-0']) },
];
export const userScenarios: Scenario[] = stories.map((story) => ({ ...story, queue: '-user' }));
