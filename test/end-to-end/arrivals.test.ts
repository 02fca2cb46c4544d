import { setTimeout as sleep } from 'node:timers/promises';
import { defineHandler } from '../../handlers';
import { eventually } from '../helpers/eventually';
import { rounds } from '../helpers/long';
import { actionsOf } from '../workflows/histories';
import { openOwn } from '../workflows/ownNode';

/** Tasks that come one by one to one target, 1,000 per second where the machine can. */
const TASKS = rounds(1_000, 4_000);
/** A start, a look and an end of what is left over. */
const BESIDES = 8;

test('arrivals one by one cost at most four actions per batch, however many tasks come [G12]', async () => {
  const meters = defineHandler<{ to: string }>({
    name: 'meters',
    target: ({ to }) => to,
    limits: { maxItems: 500 },
    linger: { lingerMs: 200 },
    leaders: 1,
    submit: (batch) => Promise.resolve({ results: batch.tasks.map(({ id }) => ({ id, status: 'ok' as const })) }),
  });
  const muster = await openOwn([meters]);
  try {
    await muster.startNode();
    const submits: Promise<unknown>[] = [];
    for (let i = 0; i < TASKS; i += 10) {
      for (let j = i; j < i + 10; j++)
        submits.push(muster.client.submit('meters', { id: `m-${j}`, payload: { to: 'one' } }));
      await sleep(10);
    }
    await Promise.all(submits);
    const count = async (text: string): Promise<number> =>
      (await muster.database.pool.query<{ n: number }>(text)).rows[0]!.n;
    const succeeded = 'select count(*)::int as n from task_state where state = 4';
    await eventually(async () => (await count(succeeded)) === TASKS, { timeoutMs: 120_000 });
    const batches = await count('select count(*)::int as n from batch');
    const { workflowId, epoch } = await muster.leaderOf('meters');
    const { workflow } = await muster.client.temporal();
    // Each run is its own start, and may have looked in vain before it ended.
    const runs = await eventually(
      async () => {
        const found: string[] = [];
        for await (const run of workflow.list({ query: `WorkflowId = '${workflowId}'` })) found.push(run.runId);
        return found.length >= epoch ? found : null;
      },
      { timeoutMs: 60_000 },
    );
    let actions = 0;
    for (const runId of runs)
      actions += actionsOf((await workflow.getHandle(workflowId, runId).fetchHistory()).events ?? []);
    process.stderr.write(`[arrivals] ${TASKS} tasks, ${batches} batches, ${actions} actions in ${runs.length} runs\n`);
    expect(batches).toBeLessThan(TASKS / 5);
    expect(actions).toBeLessThanOrEqual(4 * batches + BESIDES);
  } finally {
    await muster.stop();
  }
});
