import { handOnCompletions } from '../../activities/accepted/handOn';
import { defineHandler } from '../../handlers';
import type { Handler } from '../../handlers';
import {
  balancerWorkflowId,
  completionWorkflowId,
  executionWorkflowId,
  leaderWorkflowId,
  monitorWorkflowId,
  notifierWorkflowId,
  queuerWorkflowId,
} from '../../workflows/naming';
import type { MusterWorkflow } from '../../workflows/planning/webUi/starts';
import { functionsOf } from '../executions/functions';
import { eventually } from '../helpers/eventually';
import type { TestMuster } from '../helpers/muster';
import { startMuster } from '../helpers/muster';
import { bundleWorkflows, startUserWorker } from '../helpers/userWorker';
import { SECRET, startReceiver } from '../services/notifier/receiver';

/** One of each of Muster's workflows, each at its work. */

interface Order {
  to: string;
}
const to = ({ to: target }: Order): string => target;
const base = { target: to, limits: { maxItems: 10 }, linger: { lingerMs: 20 } };

export interface ShownWorld {
  muster: TestMuster;
  /** Ids of the workflows. */
  ids: Record<Exclude<MusterWorkflow, 'timer-probe'>, string>;
  execution: string;
  /** Lets the calls, polls and items end that are held. */
  release(): void;
  /** Runs a workflow of a user to its end; returns its id. */
  runUser(): Promise<string>;
  stop(): Promise<void>;
}

export const openShown = async (dashboardUrl?: string, address?: string): Promise<ShownWorld> => {
  let release = (): void => undefined;
  let isReleased = false;
  const released = new Promise<void>((resolve) => (release = resolve));
  void released.then(() => (isReleased = true));
  const ok = ({ tasks }: { tasks: readonly { id: string }[] }) => ({
    results: tasks.map(({ id }) => ({ id, status: 'ok' as const })),
  });
  const handlers: Handler[] = [
    defineHandler<Order>({ ...base, name: 'orders', submit: async (batch) => ok(batch) }),
    defineHandler<Order>({ ...base, name: 'placed', affinity: { partitions: 2 }, submit: async (batch) => ok(batch) }),
    defineHandler<Order>({
      ...base,
      name: 'ledger',
      service: (target) => target,
      lane: { approach: 'serial' },
      timeoutMs: 600_000, // held for as long as the test looks
      submit: async (batch) => {
        await released;
        return ok(batch);
      },
    }),
    defineHandler<Order>({
      ...base,
      name: 'renders',
      submit: async ({ id }) => ({ status: 'accepted', reference: `render-${id}` }),
      status: async (references) =>
        references.map((reference) => ({ reference, status: isReleased ? ('done' as const) : ('pending' as const) })),
      results: async () => [{ id: 'render-1', status: 'ok' as const }],
      poll: { everyMs: 500 },
    }),
  ];
  const receiver = await startReceiver();
  receiver.answer = (response) => void response.writeHead(503).end();
  const resize = { resize: () => released.then(() => 'resized') };
  const muster = await startMuster(handlers, {
    dashboardUrl,
    ...(address === undefined ? {} : { address }),
    executions: { ...functionsOf(resize), rollCallMs: 300, leaseMs: 5_000 },
    callbacks: { allow: ['127.0.0.1:*'], secret: SECRET },
  });
  const { client, prefix } = muster;
  const order = (id: string, target: string) => ({ id, payload: { to: target } });
  await client.submit('orders', { ...order('order-1', 'berlin'), callback: { url: `${receiver.url}/ended` } });
  await client.submit('renders', order('render-1', 'gpu'));
  await client.submit('placed', order('placed-1', 'here'));
  await client.submitBatch('ledger', 'po-17', [order('edit-1', 'po-17'), order('edit-2', 'po-17')]);
  const { id: execution } = await client.execute({ functionId: 'resize', method: 'run' }, [['a.png'], ['b.png']]);
  await client.waitFor(['order-1', 'placed-1'], { timeoutMs: 60_000 });
  await eventually(async () => (await client.execution(execution).status()).counts.inProgress > 0, { what: 'items' });
  const { rows } = await muster.database.pool.query<{ id: number; name: string }>(
    `select l.id, l.name from leader l join handler h on h.id = l.handler_id where h.name = 'orders'`,
  );
  const told = completionWorkflowId(prefix, 'orders', 'of-nothing');
  await handOnCompletions(muster.node.deps, { handler: 'orders', id: told, told: [{ batchId: 1_000_000 }] });
  const ids = {
    leader: leaderWorkflowId(prefix, 'orders', rows[0]!.name, rows[0]!.id),
    queuer: queuerWorkflowId(prefix, 0),
    execution: executionWorkflowId(prefix, execution),
    monitor: monitorWorkflowId(prefix, 'renders'),
    completion: told,
    notifier: notifierWorkflowId(prefix),
    balancer: balancerWorkflowId(prefix),
  };
  return {
    ...{ muster, ids, execution, release },
    runUser: async () => {
      const worker = await startUserWorker(muster, await bundleWorkflows(require.resolve('./user')));
      const workflowId = `${prefix}/user/import`;
      try {
        const temporal = await client.temporal();
        const run = await temporal.workflow.start('importOrders', {
          ...{ workflowId, taskQueue: worker.taskQueue, args: [prefix, ['imported-1', 'imported-2']] },
        });
        const fanout = await eventually(async () => {
          const { rows: found } = await muster.database.pool.query<{ id: string }>(
            'select public_id as id from fanout',
          );
          return found[0]?.id;
        });
        await eventually(async () => (await client.fanouts.get(fanout))?.state === 'sealed');
        await client.ackItems([`${fanout}:0:0`]);
        await run.result();
      } finally {
        await worker.stop();
      }
      return workflowId;
    },
    stop: async () => {
      release();
      await muster.stop();
      await receiver.close();
    },
  };
};
