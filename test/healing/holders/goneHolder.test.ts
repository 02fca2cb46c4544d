import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Connection } from '@temporalio/client';
import { Client } from '@temporalio/client';
import pino from 'pino';
import { touchNode } from '../../../postgres/nodes/node';
import { Holders } from '../../../workers/temporal/holders';
import { askForRun } from '../../../workers/temporal/openRun';
import { StuckRuns } from '../../../workers/sweeper/stuckRuns';
import { Requests } from '../../../workflows/temporal/requests';
import type { TestDatabase } from '../../helpers/database';
import { connectTo, createDatabase, temporalAddress } from '../../helpers/database';

/**
 * A worker that dies with a workflow task in its hands: the server leaves it there for 15 s (here
 * for two minutes), and its signs of life in the store end at once.
 *
 * @slow
 */

let database: TestDatabase;
let connection: Connection;
let client: Client;
beforeAll(async () => {
  database = await createDatabase();
  connection = await connectTo({ address: temporalAddress() });
  client = new Client({ connection });
});
afterAll(async () => {
  await connection.close();
  await database.drop();
});

const beat = (id: string): Promise<unknown> =>
  touchNode(database.pool, { id, taskQueue: 'held', handlers: [], version: '1', draining: false });

/** Begins a run whose first workflow task this worker has. */
const begin = async (identity: string) => {
  const queue = `held-${randomUUID()}`;
  const workflowId = `${queue}/run`;
  const { firstExecutionRunId: runId } = await client.workflow.start('leader', {
    ...{ taskQueue: queue, workflowId, workflowTaskTimeout: '2 minutes' },
  });
  await connection.withDeadline(Date.now() + 20_000, () =>
    client.workflowService.pollWorkflowTaskQueue({ namespace: 'default', taskQueue: { name: queue }, identity }),
  );
  return { workflowId, runId };
};

/** Looks as the sweeper does, for so long; returns after how long the run was begun anew. */
const lookFor = async (ms: number, workflowId: string): Promise<number | null> => {
  const { pool } = database;
  const stuck = new StuckRuns({
    ...{ pool, prefix: 'held', log: pino({ enabled: false }), requests: new Requests(client) },
  });
  const begun = performance.now();
  const silent = { type: 'leader', workflowId, silentMs: 3_000, takesTurns: true, wake: () => Promise.resolve() };
  const counts = { stuckRuns: 0 };
  for (; performance.now() < begun + ms; await sleep(500)) {
    await stuck.look([silent], counts);
    if (counts.stuckRuns > 0) return performance.now() - begun;
  }
  return null;
};

test('its run is begun anew within 12 s of its last sign of life', async () => {
  const node = `dead-${randomUUID()}`;
  await beat(node);
  const { workflowId, runId } = await begin(node);
  const tookMs = await lookFor(14_000, workflowId);
  expect(tookMs).toBeGreaterThan(5_000);
  expect(tookMs).toBeLessThan(12_000);
  expect((await client.workflow.getHandle(workflowId, runId).describe()).status.name).toBe('TERMINATED');
});

test('a worker that is only slow, and one that is no node, are waited for', async () => {
  const node = `slow-${randomUUID()}`;
  await beat(node);
  const slow = await begin(node);
  const unknown = await begin('a stranger');
  const ticker = setInterval(() => void beat(node), 2_500);
  try {
    const tooks = await Promise.all([slow, unknown].map(({ workflowId }) => lookFor(13_000, workflowId)));
    expect(tooks).toEqual([null, null]);
  } finally {
    clearInterval(ticker);
  }
});

test('old signs count only while this process has looked at them without a pause', async () => {
  const node = `back-${randomUUID()}`;
  await beat(node);
  await database.pool.query(`update node set seen_at = clock() - interval '20 s' where id = $1`, [node]);
  const held = await begin(node);
  const holders = new Holders({ pool: database.pool, requests: new Requests(client) });
  const { task } = await askForRun(client, held.workflowId);
  const isGone = (now: number) => {
    holders.begin(new Set([held.workflowId]), now);
    return holders.isGone({ ...held, task: task! }, now);
  };
  // The store was away for 20 s: its first answers are old signs.
  expect([await isGone(0), await isGone(2_000)]).toEqual([false, false]);
  // So long this process was stopped, or the store away again.
  expect([await isGone(9_000), await isGone(12_000)]).toEqual([false, false]);
  expect(await isGone(13_000)).toBe(true);
  await beat(node);
  expect(await isGone(14_000)).toBe(false);
});
