import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Connection } from '@temporalio/client';
import { Client } from '@temporalio/client';
import { msToTs } from '@temporalio/common/lib/time';
import pino from 'pino';
import type { SilentRun } from '../../../workers/sweeper/stuckRuns';
import { StuckRuns } from '../../../workers/sweeper/stuckRuns';
import { Requests } from '../../../workflows/temporal/requests';
import type { TestDatabase } from '../../helpers/database';
import { connectTo, createDatabase, temporalAddress } from '../../helpers/database';

/**
 * What the sweeper does with silent runs where Temporal is slow, or fails in between.
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

type Answer = Awaited<ReturnType<Client['workflowService']['describeWorkflowExecution']>>;

/** Looks through a Temporal whose answers about runs are changed; `looks`: at which workflows. */
const looking = (change: (answer: Answer) => void, answerMs = 0, pool = database.pool) => {
  const looks: string[] = [];
  const { workflowService: service } = client;
  const describeWorkflowExecution = async (request: { execution: { workflowId: string } }) => {
    looks.push(request.execution.workflowId);
    if (answerMs > 0) await sleep(answerMs);
    const answer = await service.describeWorkflowExecution(request);
    change(answer);
    return answer;
  };
  const workflowService = Object.create(service, {
    describeWorkflowExecution: { value: describeWorkflowExecution },
  }) as object;
  const temporal = Object.create(client, { workflowService: { value: workflowService } }) as Client;
  const own = { pool, prefix: 'slow', node: 'sweeper', log: pino({ enabled: false }) };
  return { looks, stuck: new StuckRuns({ ...own, requests: new Requests(temporal) }) };
};

const silent = (workflowId: string, wake: SilentRun['wake'] = () => Promise.resolve()): SilentRun => ({
  ...{ type: 'leader', workflowId, silentMs: 90_000, takesTurns: true, wake },
});

test('a round begins no look that its deadline would cut off, and the next round begins it', async () => {
  const { looks, stuck } = looking(() => undefined, 1_500);
  const runs = Array.from({ length: 40 }, () => silent(randomUUID()));
  await stuck.look(runs);
  expect(looks).toHaveLength(24); // eight at a time, for 4 s
  await stuck.look(runs.slice(24));
  expect(new Set(looks)).toEqual(new Set(runs.map(({ workflowId }) => workflowId)));
});

/** Begins a run whose workflow task a worker takes that dies. */
const beginTaken = async (): Promise<string> => {
  const queue = `slow-${randomUUID()}`;
  const workflowId = `${queue}/run`;
  await client.workflow.start('leader', { taskQueue: queue, workflowId, workflowTaskTimeout: '2 minutes' });
  await connection.withDeadline(Date.now() + 20_000, () =>
    client.workflowService.pollWorkflowTaskQueue({
      namespace: 'default',
      taskQueue: { name: queue },
      identity: 'dead',
    }),
  );
  return workflowId;
};
/** As if the timer of so short a limit had been lost. */
const late = ({ executionConfig }: Answer): void => {
  executionConfig!.defaultWorkflowTaskTimeout = msToTs(1_000);
};
const statusOf = async (workflowId: string): Promise<string> =>
  (await client.workflow.getHandle(workflowId).describe()).status.name;

test('a run that was ended is begun anew, also where the wake failed at first', async () => {
  const workflowId = await beginTaken();
  let wakes = 0;
  const run = silent(workflowId, () => Promise.resolve(++wakes === 1 ? new Error('Temporal is away') : null));
  const { stuck } = looking(late);
  const failures: unknown[] = [];
  for (const end = performance.now() + 15_000; performance.now() < end && wakes < 2; await sleep(300))
    await stuck.look([run]).catch((error: unknown) => failures.push(error));
  expect(await statusOf(workflowId)).toBe('TERMINATED');
  expect(failures).toEqual([new Error('Temporal is away')]);
  expect(wakes).toBe(2);
  for (let i = 0; i < 20; i++, await sleep(300)) await stuck.look([run]);
  expect(wakes).toBe(2);
});

test('a process that was stopped since it looked at a run does not end it', async () => {
  const workflowId = await beginTaken();
  let blocks = false;
  const query = (...args: Parameters<typeof database.pool.query>) => {
    if (blocks) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3_600);
    blocks = false;
    return database.pool.query(...args);
  };
  const { looks, stuck } = looking(late, 0, { query } as unknown as typeof database.pool);
  await stuck.look([silent(workflowId)]);
  blocks = true; // after the answer that says that its time is over
  while (blocks) {
    await sleep(300);
    await stuck.look([silent(workflowId)]);
  }
  expect(looks).toHaveLength(2);
  expect(await statusOf(workflowId)).toBe('RUNNING');
});
