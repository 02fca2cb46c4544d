import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Connection } from '@temporalio/client';
import { Client } from '@temporalio/client';
import { msToTs } from '@temporalio/common/lib/time';
import pino from 'pino';
import { touchNode } from '../../../postgres/nodes/node';
import { StoreContact } from '../../../workers/sweeper/lease/storeContact';
import { Holders } from '../../../workers/sweeper/stuck/holders';
import { askForRun } from '../../../workers/temporal/openRun';
import { StuckRuns } from '../../../workers/sweeper/stuckRuns';
import { Requests } from '../../../workflows/temporal/requests';
import type { TestDatabase } from '../../helpers/database';
import { connectTo, createDatabase, temporalAddress } from '../../helpers/database';
import { eventually } from '../../helpers/eventually';

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
const begin = async (identity: string, id?: string) => {
  const queue = `held-${randomUUID()}`;
  const workflowId = id ?? `${queue}/run`;
  const { firstExecutionRunId: runId } = await client.workflow.start('leader', {
    ...{ taskQueue: queue, workflowId, workflowTaskTimeout: '2 minutes' },
  });
  await connection.withDeadline(Date.now() + 20_000, () =>
    client.workflowService.pollWorkflowTaskQueue({ namespace: 'default', taskQueue: { name: queue }, identity }),
  );
  return { workflowId, runId };
};

const SCHEDULE_ACTIVITY = 1;
const poll = <T>(work: () => Promise<T>): Promise<T> => connection.withDeadline(Date.now() + 20_000, work);

/** Begins a run that waits for an activity, as a monitor does, which this worker has. */
const beginActivity = async (
  identity: string,
  heartbeatTimeoutMs = 600_000,
): Promise<{ workflowId: string; runId: string }> => {
  const queue = `held-${randomUUID()}`;
  const workflowId = `${queue}/run`;
  const { workflow, workflowService } = client;
  const { firstExecutionRunId: runId } = await workflow.start('monitor', { taskQueue: queue, workflowId });
  const taskQueue = { name: queue };
  const asked = { namespace: 'default', taskQueue, identity };
  const { taskToken } = await poll(() => workflowService.pollWorkflowTaskQueue(asked));
  const long = msToTs(600_000);
  const scheduleActivityTaskCommandAttributes = {
    ...{ activityId: '1', activityType: { name: 'poll' }, taskQueue },
    ...{ startToCloseTimeout: long, heartbeatTimeout: msToTs(heartbeatTimeoutMs) },
    retryPolicy: { initialInterval: long },
  };
  const commands = [{ commandType: SCHEDULE_ACTIVITY, scheduleActivityTaskCommandAttributes }];
  await workflowService.respondWorkflowTaskCompleted({ namespace: 'default', taskToken, commands });
  await poll(() => workflowService.pollActivityTaskQueue(asked));
  return { workflowId, runId };
};

const stuckRuns = (): StuckRuns => {
  const { pool } = database;
  return new StuckRuns({
    ...{ pool, prefix: 'held', node: 'sweeper', log: pino({ enabled: false }), requests: new Requests(client) },
  });
};
/** Looks as the sweeper does, for so long; returns whether the run was begun anew. */
const lookFor = async (
  ms: number,
  workflowId: string,
  takesTurns = true,
  stuck: StuckRuns = stuckRuns(),
): Promise<boolean> => {
  const silent = { type: 'leader', workflowId, silentMs: 3_000, takesTurns, wake: () => Promise.resolve() };
  const counts = { stuckRuns: 0 };
  for (const end = performance.now() + ms; performance.now() < end && counts.stuckRuns === 0; await sleep(500))
    await stuck.look([silent], counts);
  return counts.stuckRuns > 0;
};

test('its run is begun anew 9 s after its last sign of life, not before', async () => {
  const node = `dead-${randomUUID()}`;
  await beat(node);
  const beatAt = performance.now();
  const { workflowId, runId } = await begin(node);
  expect(await lookFor(16_000, workflowId)).toBe(true);
  expect(performance.now() - beatAt).toBeGreaterThan(9_000);
  expect((await client.workflow.getHandle(workflowId, runId).describe()).status.name).toBe('TERMINATED');
});

test('a run whose next worker dies, too, is begun anew again soon', async () => {
  const stuck = stuckRuns();
  const dead = async (): Promise<string> => {
    const node = `dead-${randomUUID()}`;
    await beat(node);
    await database.pool.query(`update node set seen_at = clock() - interval '20 s' where id = $1`, [node]);
    return node;
  };
  const { workflowId } = await begin(await dead());
  expect(await lookFor(16_000, workflowId, true, stuck)).toBe(true);
  await begin(await dead(), workflowId);
  expect(await lookFor(20_000, workflowId, true, stuck)).toBe(true);
});

test('a monitor whose activity such a worker has is begun anew, also while it is signalled', async () => {
  const [dead, alive] = [`dead-${randomUUID()}`, `alive-${randomUUID()}`];
  await Promise.all([beat(dead), beat(alive)]);
  const [gone, held] = await Promise.all([beginActivity(dead), beginActivity(alive)]);
  const signal = async () => {
    for (const { workflowId } of [gone, held]) await client.workflow.getHandle(workflowId).signal('look');
    await beat(alive);
  };
  await signal(); // its workflow task waits for a worker that is not there
  const beating = setInterval(() => void signal().catch(() => undefined), 2_000);
  try {
    const begunAnew = await Promise.all([gone, held].map(({ workflowId }) => lookFor(16_000, workflowId, false)));
    expect(begunAnew).toEqual([true, false]);
  } finally {
    clearInterval(beating);
  }
  expect((await client.workflow.getHandle(gone.workflowId, gone.runId).describe()).status.name).toBe('TERMINATED');
});

test('a monitor whose activity waits for its next attempt after such a worker is begun anew', async () => {
  const [dead, alive] = [`dead-${randomUUID()}`, `alive-${randomUUID()}`];
  await Promise.all([beat(dead), beat(alive)]);
  const [gone, held] = await Promise.all([dead, alive].map((node) => beginActivity(node, 1_000)));
  await eventually(async () => {
    const { activities } = await askForRun(client, held!.workflowId);
    return activities[0]!.attempt === 2;
  });
  const beating = setInterval(() => void beat(alive).catch(() => undefined), 2_000);
  try {
    const begunAnew = await Promise.all([gone!, held!].map(({ workflowId }) => lookFor(16_000, workflowId, false)));
    expect(begunAnew).toEqual([true, false]);
  } finally {
    clearInterval(beating);
  }
});

test('a worker whose signs come late, and one that is no node, are waited for', async () => {
  const node = `slow-${randomUUID()}`;
  await beat(node);
  const slow = await begin(node);
  const unknown = await begin('a stranger');
  let isOver = false;
  const beating = (async () => {
    for (; !isOver; await sleep(5_000)) await beat(node);
  })();
  try {
    const begunAnew = await Promise.all([slow, unknown].map(({ workflowId }) => lookFor(13_000, workflowId)));
    expect(begunAnew).toEqual([false, false]);
  } finally {
    isOver = true;
    await beating;
  }
});

/** Asks about a node's run, each time in a round of its own unless said otherwise. */
const asking = async (node: string, ageS: number, pool = database.pool, own = 'sweeper') => {
  await beat(node);
  await database.pool.query(`update node set seen_at = clock() - $2 * interval '1 s' where id = $1`, [node, ageS]);
  const held = await begin(node);
  const contact = new StoreContact();
  const holders = new Holders({ pool, requests: new Requests(client), node: own, contact });
  const { task } = await askForRun(client, held.workflowId);
  const again = () => holders.isGone({ ...held, task: task! });
  const ask = () => {
    holders.begin(new Set([held.workflowId]));
    return again();
  };
  /** Asks so often, a second apart; returns the last answer. */
  const times = async (n: number) => {
    for (let i = 1; i < n; i++, await sleep(1_000)) await ask();
    return ask();
  };
  return { ask, again, times, contact };
};

test('signs count after 10 s in which the store has answered, for it may have been away', async () => {
  const node = `back-${randomUUID()}`;
  const { ask, times } = await asking(node, 20);
  expect(await times(8)).toBe(false);
  expect(await times(5)).toBe(true);
  await beat(node);
  expect(await ask()).toBe(false);
});

test('they count after 4 s if the store has answered for long, and no longer after a gap', async () => {
  const realNow = performance.now.bind(performance);
  let passedMs = 0;
  jest.spyOn(performance, 'now').mockImplementation(() => realNow() + passedMs);
  try {
    const { ask, contact } = await asking(`long-${randomUUID()}`, 20);
    const answersFor = (seconds: number): void => {
      for (let i = 0; i < seconds; i++, passedMs += 1_000) contact.answered();
    };
    answersFor(10);
    expect(await ask()).toBe(false);
    answersFor(3);
    expect(await ask()).toBe(false);
    answersFor(2); // without looks between
    expect(await ask()).toBe(true);
    passedMs += 4_000;
    expect(await ask()).toBe(false);
    answersFor(9);
    expect(await ask()).toBe(false);
    answersFor(2);
    expect(await ask()).toBe(true);
    contact.lost(); // answers to reads were none to writes
    answersFor(9);
    expect(await ask()).toBe(false);
  } finally {
    jest.restoreAllMocks();
  }
});

test('who asks is not gone, whatever keeps its signs from the store', async () => {
  const node = `own-${randomUUID()}`;
  const { times } = await asking(node, 20, database.pool, node);
  expect(await times(12)).toBe(false);
});

test('time without looks does not count', async () => {
  const { ask, times } = await asking(`pause-${randomUUID()}`, 6);
  expect(await ask()).toBe(false);
  await sleep(4_500);
  expect(await ask()).toBe(false);
  expect(await times(3)).toBe(false);
});

test('a store that answers late has been away', async () => {
  let lateMs = 0;
  const query = async (...args: Parameters<typeof database.pool.query>) => {
    await sleep(lateMs);
    return database.pool.query(...args);
  };
  const { ask, times } = await asking(`late-${randomUUID()}`, 6, { query } as unknown as typeof database.pool);
  expect(await ask()).toBe(false);
  lateMs = 4_500;
  expect(await ask()).toBe(false);
  lateMs = 0;
  expect(await times(3)).toBe(false);
});

test('all runs of a round share what was read of their worker', async () => {
  let queries = 0;
  const query = (...args: Parameters<typeof database.pool.query>) => {
    queries++;
    return database.pool.query(...args);
  };
  const { ask, again } = await asking(`round-${randomUUID()}`, 6, { query } as unknown as typeof database.pool);
  expect([await ask(), await again(), await again()]).toEqual([false, false, false]);
  expect(queries).toBe(1);
});

test('a store that gives no answer, and a second attempt, say nothing', async () => {
  const away = { query: () => Promise.reject(new Error('away')) } as unknown as typeof database.pool;
  const { ask } = await asking(`away-${randomUUID()}`, 20, away);
  expect(await ask()).toBeNull();
  const own = { node: 'sweeper', contact: new StoreContact() };
  const holders = new Holders({ pool: database.pool, requests: new Requests(client), ...own });
  const second = { isStarted: true, attempt: 2, scheduledAt: 1, startedAt: 1 };
  expect(await holders.isGone({ workflowId: 'any', runId: 'any', task: second })).toBeNull();
  expect(await holders.isGone({ workflowId: 'none', runId: randomUUID(), task: { ...second, attempt: 1 } })).toBeNull();
});
