import { queuerWorkflowId, workflowTaskQueue } from '../../workflows/naming';
import { lookSignal } from '../../workflows/definitions';
import { reachesStatus } from '../helpers/reachesStatus';
import type { TestMuster } from '../helpers/muster';
import type { Scenario } from './scenarios';

/** Paths of the queuer that a stored history must cover. */

const tried = new Set<string>();
const once = (id: string): boolean => !tried.has(id) && tried.add(id) !== undefined;

const submit = async (muster: TestMuster, service: string, n: number): Promise<number[]> => {
  const batches: number[] = [];
  for (let i = 0; i < n; i++)
    batches.push(
      (await muster.client.submitBatch('recorded', service, [{ id: `${service}-${i}`, payload: { n: i } }])).batch,
    );
  return batches;
};
const committed = async (muster: TestMuster, batches: readonly number[]): Promise<void> => {
  for (const batch of batches) await reachesStatus(muster.client, batch, 'committed');
};

export const laneScenarios: Scenario[] = [
  {
    name: 'lane-serial',
    handler: { lane: {} },
    run: async (muster) => committed(muster, await submit(muster, 'one', 5)),
  },
  {
    name: 'lane-retry',
    handler: {
      lane: {},
      submit: async (batch) =>
        once(`later ${batch.id}`)
          ? { status: 'later' as const }
          : { results: batch.tasks.map((_, index) => ({ index, status: 'ok' as const })) },
    },
    run: async (muster) => committed(muster, await submit(muster, 'one', 3)),
  },
  {
    name: 'lane-halt-and-skip',
    handler: {
      lane: { onInvalid: 'halt' },
      submit: async (batch) =>
        batch.tasks[0]!.payload.n === 0
          ? { status: 'rejected' as const, error: 'no' }
          : { results: batch.tasks.map((_, index) => ({ index, status: 'ok' as const })) },
    },
    run: async (muster) => {
      const [bad, next] = await submit(muster, 'one', 2);
      await reachesStatus(muster.client, bad!, 'invalid');
      await muster.client.skipHead('one');
      await committed(muster, [next!]);
    },
  },
  {
    name: 'lane-submitter-failed',
    handler: { lane: {} },
    run: async (muster) => {
      const { pool } = muster.database;
      const query = pool.query.bind(pool) as (...args: unknown[]) => Promise<unknown>;
      pool.query = ((...args: unknown[]) => {
        if ((args[0] as { name?: string }).name !== 'read-granted') return query(...args);
        pool.query = query as typeof pool.query;
        // Without a stack: the history keeps it, and it names places of the recording machine.
        return Promise.reject(Object.assign(new Error('planted: the submitter fails'), { stack: '' }));
      }) as typeof pool.query;
      await committed(muster, await submit(muster, 'one', 1));
    },
  },
  {
    name: 'lane-accepted',
    handler: {
      lane: {},
      submit: async (batch) => ({ status: 'accepted' as const, reference: `r-${batch.id}` }),
      status: async (references) =>
        references.map((reference) => ({
          reference,
          status: once(`poll ${reference}`) ? ('pending' as const) : ('done' as const),
        })),
      results: () => [{ index: 0, status: 'ok' as const }],
      poll: { everyMs: 200 },
    },
    run: async (muster) => committed(muster, await submit(muster, 'one', 2)),
  },
  {
    name: 'lane-continue-as-new',
    // Slow enough to be woken, for nothing, while the first is on its way.
    handler: {
      lane: {},
      submit: async (batch) => {
        await new Promise((resolve) => setTimeout(resolve, 300));
        return { results: batch.tasks.map((_, index) => ({ index, status: 'ok' as const })) };
      },
    },
    run: async (muster) => {
      const temporal = await muster.client.temporal();
      await temporal.workflow.signalWithStart('queuer', {
        workflowId: queuerWorkflowId(muster.prefix, 0),
        taskQueue: workflowTaskQueue(muster.prefix),
        args: [{ queuerId: 0, turnsPerRun: 2 }],
        signal: lookSignal,
        signalArgs: [],
      });
      await committed(muster, await submit(muster, 'one', 6));
    },
  },
];
