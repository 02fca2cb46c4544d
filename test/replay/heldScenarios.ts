import { setTimeout as sleep } from 'node:timers/promises';
import { lookSignal } from '../../workflows/definitions';
import { leaderWorkflowId, workflowTaskQueue } from '../../workflows/naming';
import { eventually } from '../helpers/eventually';
import type { TestMuster } from '../helpers/muster';
import type { Scenario } from './scenarios';

/**
 * A turn that the store holds up while calls end, some in a workflow task of their own, some
 * together: the server begins a new workflow task each 1.6 s meanwhile.
 */
const TASK_TIMEOUT_MS = 2_000;
const HELD_MS = 7_000;
const ENDS: readonly (readonly number[])[] = [[1], [2, 3], [4]];
const CALLS = 5;

const gates = new Map<string, () => void>();

const startLeader = async ({ database, client, prefix }: TestMuster): Promise<void> => {
  const { rows } = await database.pool.query<{ id: number }>({
    text: `insert into leader (handler_id, name) select id, '0' from handler where name = 'recorded' returning id`,
  });
  const leaderId = rows[0]!.id;
  const temporal = await client.temporal();
  await temporal.workflow.signalWithStart('leader', {
    workflowId: leaderWorkflowId(prefix, 'recorded', '0', leaderId),
    taskQueue: workflowTaskQueue(prefix),
    args: [{ leaderId, handler: 'recorded', name: '0', dueInMs: 2_000 }],
    signal: lookSignal,
    signalArgs: [],
    workflowTaskTimeout: TASK_TIMEOUT_MS,
  });
};

/** Holds the next turn after its writes; resolves once it is held. */
const holdTurn = ({ database: { pool } }: TestMuster): Promise<void> =>
  new Promise((resolve) => {
    const query = pool.query.bind(pool) as (...args: unknown[]) => Promise<unknown>;
    pool.query = (async (...args: unknown[]) => {
      if ((args[0] as { name?: string }).name === 'wake-for-free-slots') {
        pool.query = query as typeof pool.query;
        resolve();
        await sleep(HELD_MS);
      }
      return query(...args);
    }) as typeof pool.query;
  });

export const heldScenarios: Scenario[] = [
  {
    name: 'calls-end-during-turn',
    handler: {
      target: ({ n }) => String(n),
      leaders: 1,
      limits: { maxItems: 1 },
      linger: { lingerMs: 0 },
      submit: async (batch) => {
        await new Promise<void>((resolve) => gates.set(batch.target, resolve));
        return { results: [{ index: 0, status: 'ok' as const }] };
      },
      timeoutMs: 120_000,
    },
    run: async (muster) => {
      await startLeader(muster);
      for (let n = 0; n < CALLS; n++) {
        await muster.client.submit('recorded', { id: `t-${n}`, payload: { n } });
        await eventually(() => gates.has(String(n)));
      }
      const held = holdTurn(muster);
      gates.get('0')!();
      await held;
      for (const together of ENDS) {
        await sleep(1_800);
        for (const n of together) gates.get(String(n))!();
      }
      const ids = Array.from({ length: CALLS }, (_, n) => `t-${n}`);
      await muster.client.waitFor(ids, { timeoutMs: 60_000 });
    },
  },
];
