import { randomUUID } from 'node:crypto';
import type { Connection } from '@temporalio/client';
import { Client } from '@temporalio/client';
import { msToTs } from '@temporalio/common/lib/time';
import pino from 'pino';
import type { SilentRun } from '../../workers/sweeper/stuckRuns';
import { StuckRuns } from '../../workers/sweeper/stuckRuns';
import { Requests } from '../../workflows/temporal/requests';
import type { TestDatabase } from '../helpers/database';
import { connectTo, createDatabase, temporalAddress } from '../helpers/database';
import { eventually } from '../helpers/eventually';

/**
 * What a worker had that was killed, where the server does not give it to another in time: its own
 * timers come late when it is short of something. The dead worker is played by hand.
 *
 * @slow
 */

const seconds = (n: number) => msToTs(n * 1_000);
const STICKY = 2;
const SCHEDULE_ACTIVITY = 1;

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

/** A server refuses a poll without a deadline. */
const polling = <T>(poll: () => Promise<T>): Promise<T> => connection.withDeadline(Date.now() + 20_000, poll);

const pollTask = (taskQueue: { name: string; kind?: number }, identity: string) =>
  polling(() => client.workflowService.pollWorkflowTaskQueue({ namespace: 'default', taskQueue, identity }));

const silentRun = (workflowId: string, takesTurns: boolean): { silent: SilentRun; woken: () => number } => {
  let woken = 0;
  const wake = () => Promise.resolve(woken++);
  return { silent: { type: 'leader', workflowId, silentMs: 30_000, takesTurns, wake }, woken: () => woken };
};

/** Begins a run whose first workflow task a worker completes, which then dies. */
const begin = async (
  task: { stickyAttributes: object } | { commands: object[] },
): Promise<{ silent: SilentRun; queue: string; woken: () => number; runId: string }> => {
  const queue = `lost-${randomUUID()}`;
  const workflowId = `${queue}/run`;
  const { firstExecutionRunId: runId } = await client.workflow.start('leader', { taskQueue: queue, workflowId });
  const { taskToken } = await pollTask({ name: queue }, 'killed');
  await client.workflowService.respondWorkflowTaskCompleted({ namespace: 'default', taskToken, ...task });
  return { ...silentRun(workflowId, !('commands' in task)), queue, runId };
};

const stuckRuns = (temporal: Client): StuckRuns =>
  new StuckRuns({
    pool: database.pool,
    requests: new Requests(temporal),
    ...{ prefix: 'lost', node: 'sweeper' },
    log: pino({ enabled: false }),
    stuck: { lostMs: 2_000 },
  });
const statusOf = async ({ workflowId }: SilentRun, runId: string): Promise<string> =>
  (await client.workflow.getHandle(workflowId, runId).describe()).status.name;
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
/** After others, and more than are looked at together. */
const among = (silent: SilentRun): SilentRun[] => [
  ...Array.from({ length: 8 }, (_, i) => ({ ...silent, type: 'monitor', workflowId: `none-${i}` })),
  silent,
];
/** Looks as the sweeper does, until a run was begun anew, or for so long. */
const lookFor = async (ms: number, silent: SilentRun, stuck = stuckRuns(client)): Promise<number> => {
  const counts = { stuckRuns: 0 };
  for (const endMs = performance.now() + ms; performance.now() < endMs && counts.stuckRuns === 0;) {
    await stuck.look(among(silent), counts);
    await pause(200);
  }
  return counts.stuckRuns;
};

/**
 * Looks at a server that seems to let workers have things for so long only: since it lets them have
 * them for longer, its timers look late. It can be away.
 */
const lateServer = (limitS: number) => {
  const server = { isAway: false };
  const ask = async (request: object) => {
    if (server.isAway) throw new Error('away');
    const answer = await client.workflowService.describeWorkflowExecution(request);
    answer.executionConfig!.defaultWorkflowTaskTimeout = seconds(limitS);
    for (const activity of answer.pendingActivities) activity.activityOptions!.heartbeatTimeout = seconds(limitS);
    return answer;
  };
  const workflowService = Object.create(client.workflowService, {
    describeWorkflowExecution: { value: ask },
  }) as object;
  const temporal = Object.create(client, { workflowService: { value: workflowService } }) as Client;
  return { server, stuck: stuckRuns(temporal) };
};

test('a workflow task in the queue of a worker that is gone: the run is begun anew', async () => {
  const workerTaskQueue = { name: `gone-${randomUUID()}`, kind: STICKY };
  const stickyAttributes = { workerTaskQueue, scheduleToStartTimeout: seconds(600) };
  // A queue that was never polled would not keep its tasks.
  await connection
    .withDeadline(Date.now() + 2_000, () =>
      client.workflowService.pollWorkflowTaskQueue({
        namespace: 'default',
        taskQueue: workerTaskQueue,
        identity: 'killed',
      }),
    )
    .catch(() => undefined);
  const { silent, woken, runId } = await begin({ stickyAttributes });
  for (let i = 0; i < 3; i++) await client.workflow.getHandle(silent.workflowId).signal('look');
  expect(await lookFor(20_000, silent)).toBe(1);
  expect(woken()).toBe(1);
  expect(await statusOf(silent, runId)).toBe('TERMINATED');
});

test('a workflow task that waits for any worker is waited for', async () => {
  const { silent, woken, runId } = await begin({ commands: [] });
  await client.workflow.getHandle(silent.workflowId).signal('look');
  expect(await lookFor(12_000, { ...silent, takesTurns: true })).toBe(0);
  expect(woken()).toBe(0);
  expect(await statusOf(silent, runId)).toBe('RUNNING');
});

test('a monitor whose long history no worker has replayed in time is begun anew', async () => {
  const { silent, woken } = await begin({ commands: [] });
  const handle = client.workflow.getHandle(silent.workflowId);
  await handle.signal('look');
  expect(await lookFor(17_000, silent)).toBe(0);
  await Promise.all(Array.from({ length: 160 }, () => handle.signal('look')));
  expect(await lookFor(20_000, silent)).toBe(1);
  expect(woken()).toBe(1);
});

test('workflow tasks that one worker takes one after another, each after a while, are waited for', async () => {
  const workerTaskQueue = { name: `slow-${randomUUID()}`, kind: STICKY };
  const stickyAttributes = { workerTaskQueue, scheduleToStartTimeout: seconds(600) };
  const take = () => pollTask(workerTaskQueue, 'slow');
  const first = take();
  const { silent, runId } = await begin({ stickyAttributes });
  const handle = client.workflow.getHandle(silent.workflowId);
  await handle.signal('look');
  let { taskToken } = await first;
  let isOver = false;
  const working = (async () => {
    while (!isOver) {
      await client.workflowService.respondWorkflowTaskCompleted({ namespace: 'default', taskToken, stickyAttributes });
      await handle.signal('look');
      await pause(1_000); // so long it waits
      ({ taskToken } = await take());
    }
  })();
  try {
    expect(await lookFor(12_000, silent)).toBe(0);
  } finally {
    isOver = true;
    await working;
  }
  expect(await statusOf(silent, runId)).toBe('RUNNING');
});

/** Begins a run whose workflow task a worker takes, to which the server leaves it for minutes. */
const beginTaken = async () => {
  const queue = `taken-${randomUUID()}`;
  const workflowId = `${queue}/run`;
  const { firstExecutionRunId: runId } = await client.workflow.start('leader', {
    ...{ taskQueue: queue, workflowId, workflowTaskTimeout: '2 minutes' },
  });
  const { taskToken } = await pollTask({ name: queue }, 'stopped');
  return { ...silentRun(workflowId, true), taskToken, runId };
};

test('a workflow task that the server does not take back from a dead worker: the run is begun anew', async () => {
  const { silent, woken, runId } = await beginTaken();
  expect(await lookFor(4_500, silent, lateServer(2).stuck)).toBe(1); // the regular look comes after 5 s
  expect(woken()).toBe(1);
  expect(await statusOf(silent, runId)).toBe('TERMINATED');
});

test('a workflow task is left to its worker for as long as the server leaves it', async () => {
  const { silent } = await beginTaken();
  expect(await lookFor(12_000, silent)).toBe(0);
});

test('a long turn, for which its worker takes one workflow task after another, is waited for', async () => {
  const { silent, ...first } = await beginTaken();
  let { taskToken } = first;
  let isOver = false;
  const working = (async () => {
    while (!isOver) {
      await pause(1_000); // so long it has each
      const answer = await client.workflowService.respondWorkflowTaskCompleted({
        ...{ namespace: 'default', taskToken, returnNewWorkflowTask: true, forceCreateNewWorkflowTask: true },
      });
      taskToken = answer.workflowTask!.taskToken!;
    }
  })();
  try {
    expect(await lookFor(12_000, silent, lateServer(2).stuck)).toBe(0);
  } finally {
    isOver = true;
    await working;
  }
});

test('time in which Temporal was away, or this process was stopped, does not count', async () => {
  const { silent } = await beginTaken();
  const { server, stuck } = lateServer(2);
  expect(await lookFor(500, silent, stuck)).toBe(0);
  server.isAway = true;
  for (const endMs = performance.now() + 6_000; performance.now() < endMs; await pause(500))
    await stuck.look(among(silent)).catch(() => undefined);
  server.isAway = false;
  expect(await lookFor(2_000, silent, stuck)).toBe(0);
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 6_000); // stopped
  expect(await lookFor(2_000, silent, stuck)).toBe(0);
  expect(await lookFor(10_000, silent, stuck)).toBe(1);
});

/** Begins a run whose activity a worker takes that dies; the server repeats it after so long. */
const beginActivity = async (afterS: number) => {
  const begun = await beginHeld(1, afterS);
  const handle = client.workflow.getHandle(begun.silent.workflowId);
  await eventually(async () => {
    const { raw } = await handle.describe();
    return (raw.pendingActivities?.[0]?.attempt ?? 0) > 1;
  });
  return begun;
};

/** Begins a run whose activity a worker takes; the server waits so long for a heartbeat. */
const beginHeld = async (heartbeatS: number, afterS = 1) => {
  const activities = `activities-${randomUUID()}`;
  const scheduleActivityTaskCommandAttributes = {
    activityId: '1',
    activityType: { name: 'pollAccepted' },
    taskQueue: { name: activities },
    scheduleToStartTimeout: seconds(600),
    startToCloseTimeout: seconds(600),
    heartbeatTimeout: seconds(heartbeatS),
    retryPolicy: { initialInterval: seconds(afterS), maximumInterval: seconds(afterS) },
  };
  const begun = await begin({
    commands: [{ commandType: SCHEDULE_ACTIVITY, scheduleActivityTaskCommandAttributes }],
  });
  const request = { namespace: 'default', taskQueue: { name: activities }, identity: 'killed' };
  const { taskToken } = await polling(() => client.workflowService.pollActivityTaskQueue(request));
  return { ...begun, taskToken };
};

test('an activity that a dead worker has, and the server leaves to it: the run is begun anew', async () => {
  const { silent, woken, runId } = await beginHeld(300);
  expect(await lookFor(20_000, silent, lateServer(2).stuck)).toBe(1);
  expect(woken()).toBe(1);
  expect(await statusOf(silent, runId)).toBe('TERMINATED');
});

test('an activity is left to its worker for as long as the server leaves it', async () => {
  const { silent } = await beginHeld(300);
  expect(await lookFor(12_000, silent)).toBe(0);
});

test('an activity that gives signs of life is waited for', async () => {
  const { silent, runId, taskToken } = await beginHeld(300);
  let isOver = false;
  const beating = (async () => {
    for (; !isOver; await pause(1_000))
      await client.workflowService.recordActivityTaskHeartbeat({ namespace: 'default', taskToken });
  })();
  try {
    expect(await lookFor(12_000, silent, lateServer(2).stuck)).toBe(0);
  } finally {
    isOver = true;
    await beating;
  }
  expect(await statusOf(silent, runId)).toBe('RUNNING');
});

test('an activity that a dead worker had, and that nobody takes up again: the run is begun anew', async () => {
  const { silent, woken, runId } = await beginActivity(1);
  expect(await lookFor(20_000, silent)).toBe(1);
  expect(woken()).toBe(1);
  expect(await statusOf(silent, runId)).toBe('TERMINATED');
});

test('an activity whose next attempt is not due yet is waited for', async () => {
  const { silent, runId } = await beginActivity(300);
  expect(await lookFor(12_000, silent)).toBe(0);
  expect(await statusOf(silent, runId)).toBe('RUNNING');
});
