import { randomUUID } from 'node:crypto';
import type { Connection } from '@temporalio/client';
import { Client } from '@temporalio/client';
import { msToTs } from '@temporalio/common/lib/time';
import pino from 'pino';
import { defineHandler } from '../../../handlers';
import { registerHandler } from '../../../postgres/grouping/handler';
import { firstOverstays, NONE_TIMED, timedNow } from '../../../workers/sweeper/stuck/timedActivities';
import { StuckRuns } from '../../../workers/sweeper/stuckRuns';
import { Sweeper } from '../../../workers/sweeper/sweeper';
import type { DescribedActivity } from '../../../workers/temporal/openRun';
import { executionWorkflowId, leaderWorkflowId, queuerWorkflowId } from '../../../workflows/naming';
import { Requests } from '../../../workflows/temporal/requests';
import type { TestDatabase } from '../../helpers/database';
import { connectTo, createDatabase, temporalAddress } from '../../helpers/database';
import { eventually } from '../../helpers/eventually';

/**
 * A server has lost the timer that would end an activity, as dev servers did after kills under
 * load: the run waits for it, takes its turns meanwhile, and what it gave out stands still.
 *
 * @slow
 */

const [SCHEDULED, STARTED] = [1, 2];
const second = msToTs(1_000);
const untaken = { activityId: '1', state: SCHEDULED, attempt: 1, activityOptions: { scheduleToStartTimeout: second } };
const beating = { activityId: '2', state: STARTED, attempt: 1, activityOptions: { heartbeatTimeout: second } };

test.each<[string, DescribedActivity, number]>([
  ['that no worker takes up', untaken, 3_000],
  ['that a worker took up and left', { ...beating, lastStartedTime: msToTs(5) }, 3_000],
  ['whose last heartbeat was long ago', { ...beating, lastHeartbeatTime: msToTs(5) }, 3_000],
  ['that may wait for a worker without end', { ...untaken, activityOptions: {} }, Infinity],
  ['that gives no heartbeats', { ...beating, activityOptions: {}, lastStartedTime: msToTs(5) }, Infinity],
  ['that is paused', { ...untaken, paused: true }, Infinity],
  ['that waits for its next attempt', { ...untaken, attempt: 2 }, Infinity],
])('an activity %s is past its time two seconds after that', (_, activity, at) => {
  const seen = timedNow(NONE_TIMED, [activity], 0);
  expect(firstOverstays(timedNow(seen, [activity], 900), 2_000)).toBe(at);
});

test('a new sign begins the time anew, and of several activities the first past its time counts', () => {
  const beat = (atMs: number) => ({ ...beating, lastHeartbeatTime: msToTs(atMs) });
  let timed = timedNow(NONE_TIMED, [beat(1), untaken], 100);
  expect(firstOverstays(timed, 0)).toBe(1_100);
  timed = timedNow(timed, [beat(2), untaken], 700);
  expect(firstOverstays(timed, 0)).toBe(1_100);
  expect(firstOverstays(timedNow(timed, [beat(2)], 900), 0)).toBe(1_700);
  expect(firstOverstays(timedNow(timed, [], 900), 0)).toBe(Infinity);
});

describe('the sweeper', () => {
  const prefix = `lost-${randomUUID()}`;
  const EXECUTION = randomUUID();
  const ids = {
    leader: leaderWorkflowId(prefix, 'jobs', '0', 1),
    queuer: queuerWorkflowId(prefix, 0),
    untaken: executionWorkflowId(prefix, EXECUTION),
    taken: executionWorkflowId(prefix, EXECUTION),
  };
  let database: TestDatabase;
  let connection: Connection;
  let client: Client;
  beforeAll(async () => {
    database = await createDatabase();
    connection = await connectTo({ address: temporalAddress() });
    client = new Client({ connection });
    const service = client.workflowService as { describeWorkflowExecution: unknown };
    const describe = client.workflowService.describeWorkflowExecution.bind(client.workflowService);
    service.describeWorkflowExecution = async (request: Parameters<typeof describe>[0]) => {
      const answer = await describe(request);
      // As if the timer of so short a limit had been lost.
      for (const { activityOptions } of answer.pendingActivities) activityOptions!.scheduleToStartTimeout = second;
      return answer;
    };
    const jobs = defineHandler<{ to: string }>({
      name: 'jobs',
      target: ({ to }) => to,
      limits: { maxItems: 10 },
      leaders: 1,
      submit: async () => ({ results: [] }),
    });
    await registerHandler(database.pool, jobs);
    await database.pool.query(`insert into leader (handler_id, name) select id, '0' from handler`);
  });
  afterEach(async () => {
    for (const id of Object.values(ids))
      await client.workflow
        .getHandle(id)
        .terminate()
        .catch(() => undefined);
  });
  afterAll(async () => {
    await connection.close();
    await database.drop();
  });

  /** Begins a run that waits for an activity which no worker takes up. */
  const begin = async (workflowId: string): Promise<string> => {
    const { workflow, workflowService } = client;
    const taskQueue = { name: `lost-${randomUUID()}` };
    const { firstExecutionRunId } = await workflow.start('leader', { taskQueue: taskQueue.name, workflowId });
    const { taskToken } = await connection.withDeadline(Date.now() + 20_000, () =>
      workflowService.pollWorkflowTaskQueue({ namespace: 'default', taskQueue, identity: 'by hand' }),
    );
    const limit = msToTs(600_000);
    const activity = { activityId: '1', activityType: { name: 'submitBatches' }, taskQueue };
    const scheduleActivityTaskCommandAttributes = {
      ...activity,
      startToCloseTimeout: limit,
      scheduleToStartTimeout: limit,
    };
    const commands = [{ commandType: 1, scheduleActivityTaskCommandAttributes }];
    await workflowService.respondWorkflowTaskCompleted({ namespace: 'default', taskToken, commands });
    return firstExecutionRunId;
  };
  /** As a turn leaves them that waits for tomorrow, a dispatch of which gives no sign of life. */
  const stand = async (kind: keyof typeof ids): Promise<void> => {
    if (kind === 'untaken' || kind === 'taken') return standExecution(kind);
    const waiting = `state = 2, woken_at = null, wake_at = clock() + interval '1 day',
      expires_at = clock() + interval '1 day'`;
    await database.pool.query(`update ${kind} set ${waiting}`);
    if (kind === 'leader')
      await database.pool.query(
        `insert into dispatch (leader_id, no, handler_id, slots, rate_changes, started_at, seen_at)
         select id, 7, handler_id, 1, 0, clock() - interval '20 s', clock() - interval '20 s' from leader`,
      );
  };

  /** An execution with a chunk that no node took for a minute, or whose lease has passed. */
  const standExecution = async (kind: 'untaken' | 'taken'): Promise<void> => {
    const { pool } = database;
    await pool.query(`delete from chunk`);
    await pool.query(
      `insert into execution (id, function_id, method, config, state, items, n_running, round, created_at)
       values ($1, 'f', 'm', '{}', 1, 1, 1, 7, clock()) on conflict do nothing`,
      [EXECUTION],
    );
    await pool.query(
      `insert into chunk (id, execution_id, round, place, epoch, node_id, state, n, n_open, expires_at, created_at)
       values (gen_random_uuid(), $1, 5, 0, 1, 'n', $2, 1, 1, $3, clock() - interval '1 minute')`,
      [EXECUTION, kind === 'taken' ? 1 : 0, kind === 'taken' ? new Date(Date.now() - 10_000) : null],
    );
  };

  test('counts anew after a stop of its own process, in which no sign could be seen', async () => {
    const runId = await begin(ids.leader);
    const realNow = performance.now.bind(performance);
    let passedMs = 0;
    jest.spyOn(performance, 'now').mockImplementation(() => realNow() + passedMs);
    try {
      const [log, requests] = [pino({ enabled: false }), new Requests(client)];
      const own = { pool: database.pool, requests, prefix, node: 'sweeper', log };
      const stuck = new StuckRuns({ ...own, stuck: { lostMs: 500 } });
      const wake = () => Promise.resolve();
      const run = { type: 'leader', workflowId: ids.leader, silentMs: 0, takesTurns: true, wake };
      const statusAfter = async (ms: number): Promise<string> => {
        passedMs += ms;
        await stuck.look([run]);
        return (await client.workflow.getHandle(ids.leader, runId).describe()).status.name;
      };
      expect(await statusAfter(0)).toBe('RUNNING');
      expect(await statusAfter(8_000)).toBe('RUNNING');
      await eventually(async () => (await statusAfter(500)) === 'TERMINATED', { timeoutMs: 30_000 });
    } finally {
      jest.restoreAllMocks();
    }
  });

  test.each([
    ['leader', 'leader'],
    ['queuer', 'queuer'],
    ['execution', 'untaken'],
    ['execution', 'taken'],
  ] as const)('begins a workflow of type %s anew that waits for such an activity (%s)', async (_, kind) => {
    const runId = await begin(ids[kind]);
    await stand(kind);
    const log = pino({ enabled: false });
    const requests = new Requests(client);
    const own = { pool: database.pool, requests, prefix, node: 'sweeper', leaseMs: 15_000, log };
    const sweeper = new Sweeper({ ...own, everyMs: 100, stuck: { lostMs: 500 } });
    const statusOf = async (): Promise<string> =>
      (await client.workflow.getHandle(ids[kind], runId).describe()).status.name;
    sweeper.start();
    try {
      await eventually(async () => (await statusOf()) === 'TERMINATED', { timeoutMs: 30_000, what: 'a new run' });
      await eventually(() => sweeper.counts.stuckRuns === 1);
    } finally {
      await sweeper.stop();
    }
  });
});
