import { touchNode } from '../../postgres/nodes/node';
import { balancerWorkflowId, workflowTaskQueue } from '../../workflows/naming';
import { wakeBalancer } from '../../workflows/wake';
import { eventually } from '../helpers/eventually';
import type { TestMuster } from '../helpers/muster';
import type { Scenario } from './scenarios';
import { Requests } from '../../workflows/temporal/requests';

/**
 * Paths of the balancer, and of a leader whose partition a node holds, that a stored history must
 * cover.
 */

const counts = async ({ database }: TestMuster): Promise<Record<string, number>> => {
  const { rows } = await database.pool.query<{ holder: string; n: number }>(
    `select coalesce(holder, 'nobody') as holder, count(*)::int as n from lease where resource like 'partition/%' group by 1`,
  );
  return Object.fromEntries(rows.map(({ holder, n }) => [holder, n]));
};
const held = (muster: TestMuster, id: string, n: number): Promise<unknown> =>
  eventually(async () => (await counts(muster))[id] === n, { timeoutMs: 60_000 });
const wake = async (muster: TestMuster): Promise<unknown> =>
  wakeBalancer(new Requests(await muster.client.temporal()), muster.prefix);

/** A node that is a row: it gives nothing up. */
const ghost = async ({ database }: TestMuster): Promise<void> => {
  await touchNode(database.pool, {
    id: 'ghost',
    taskQueue: 'none',
    handlers: ['recorded'],
    version: '1',
    draining: false,
  });
  await database.pool.query(`update node set seen_at = clock() + interval '1 hour' where id = 'ghost'`);
};

export const nodeScenarios: Scenario[] = [
  {
    name: 'partition-served',
    handler: { affinity: { partitions: 2 } },
    run: async (muster) => {
      await held(muster, muster.node.id, 2);
      await muster.client.submit('recorded', [{ id: 'one', payload: { n: 1 } }]);
      await muster.client.flush('recorded');
      await muster.client.waitFor('one', { timeoutMs: 60_000 });
    },
  },
  {
    name: 'partition-handover',
    handler: { affinity: { partitions: 2 } },
    run: async (muster) => {
      await held(muster, muster.node.id, 2);
      await ghost(muster);
      await wake(muster);
      await held(muster, 'ghost', 1);
      await muster.database.pool.query(`update node set drained = true where id = 'ghost'`);
      await wake(muster);
      await held(muster, muster.node.id, 2); // when its time to give up is over
    },
  },
  {
    name: 'partition-continue-as-new',
    handler: { affinity: { partitions: 2 } },
    run: async (muster) => {
      await held(muster, muster.node.id, 2);
      const temporal = await muster.client.temporal();
      const workflowId = balancerWorkflowId(muster.prefix);
      const open = temporal.workflow.getHandle(workflowId);
      await open.terminate().catch(() => undefined); // one that is open keeps its own turns per run
      await temporal.workflow.signalWithStart('balancer', {
        workflowId,
        taskQueue: workflowTaskQueue(muster.prefix),
        args: [{ turnsPerRun: 1 }],
        signal: 'look',
        signalArgs: [],
      });
      await ghost(muster);
      await wake(muster);
      await held(muster, 'ghost', 1);
    },
  },
];
