import { TestWorkflowEnvironment } from '@temporalio/testing';
import { Worker } from '@temporalio/worker';
import type { WorkflowBundleWithSourceMap } from '@temporalio/worker';
import { defineHandler } from '../../handlers';
import type { TaskEnd, WorkflowSubmitAnswer, WorkflowTask } from '../../workflows/definitions';
import { tasksEndedSignal } from '../../workflows/definitions';
import { testServerPath } from '../helpers/database';
import { eventually } from '../helpers/eventually';
import type { TestMuster } from '../helpers/muster';
import { startMuster } from '../helpers/muster';
import type { UserWorker } from '../helpers/userWorker';
import { bundleWorkflows, startUserWorker } from '../helpers/userWorker';
import type * as user from './workflows/user';
import { countOf } from '../workflows/histories';
import type { Work } from './userTasks';
import { failureOf, late } from './userTasks';

/** @full */

let seen: string[] = [];
const jobs = defineHandler<Work>({
  name: 'jobs',
  target: (work) => work.to,
  limits: { maxItems: 1_000 },
  linger: { lingerMs: 100 },
  submit: async (batch) => {
    seen.push(...batch.tasks.map((task) => task.id));
    if (batch.target === 'silent') throw new Error('connection reset');
    return {
      results: batch.tasks.map(({ id, payload }) =>
        payload.fail === undefined
          ? { id, status: 'ok' as const, result: payload.bytes === undefined ? `did ${id}` : 'x'.repeat(payload.bytes) }
          : { id, status: 'failed' as const, error: payload.fail },
      ),
    };
  },
});

let workflowBundle: WorkflowBundleWithSourceMap;
beforeAll(async () => {
  workflowBundle = await bundleWorkflows(require.resolve('./workflows/user'));
});

describe('with a whole Muster', () => {
  let muster: TestMuster;
  let worker: UserWorker;
  beforeAll(async () => {
    muster = await startMuster([jobs, late]);
    worker = await startUserWorker(muster, workflowBundle);
  });
  afterAll(async () => {
    await worker.stop();
    await muster.stop();
  });
  beforeEach(() => void (seen = []));

  let runs = 0;
  const start = async <A extends unknown[], R>(
    workflow: (...args: A) => Promise<R>,
    name: keyof typeof user,
    args: A,
  ) =>
    (await muster.client.temporal()).workflow.start<typeof workflow>(name, {
      workflowId: `${muster.prefix}-run-${++runs}`,
      taskQueue: worker.taskQueue,
      args,
    });
  const run = async <R>(name: keyof typeof user, ...args: unknown[]): Promise<R> =>
    (await start(async (..._: unknown[]) => undefined as R, name, [...args, { prefix: muster.prefix }])).result();

  test('a handler whose schema answers later: the workflow is told, not its activity repeated for ever', async () => {
    expect(await failureOf(run('one', 'late', 'late-1', { to: 'x' }))).toMatchObject({
      type: 'MusterInvalidTask',
      message: expect.stringMatching(/schema of handler "late".*Make it synchronous/) as string,
    });
  });

  test('a task’s result comes back to the workflow that submitted it', async () => {
    expect(await run('one', 'jobs', 'first', { to: 'a' })).toEqual({
      id: 'first',
      state: 'succeeded',
      result: 'did first',
    });
  });

  test('many in one call, in their order, whatever became of each; side by side each waits for its own', async () => {
    const ids = ['m3', 'm1', 'm2'];
    expect(await run<TaskEnd[]>('many', 'jobs', ids, { to: 'b' })).toEqual(
      ids.map((id) => ({ id, state: 'succeeded', result: `did ${id}` })),
    );
    expect(await run<TaskEnd[]>('many', 'jobs', ['f1', 'f2'], { to: 'b', fail: 'no' })).toEqual(
      ['f1', 'f2'].map((id) => ({ id, state: 'failed', error: 'no' })),
    );
    expect(
      (await run<TaskEnd[]>('sideBySide', 'jobs', ['s1', 's2', 's3'], { to: 'c' })).map((end) => end.result),
    ).toEqual(['did s1', 'did s2', 'did s3']);
  });

  test('failed and unknown are failures with types of their own', async () => {
    expect(await failureOf(run('one', 'jobs', 'refused', { to: 'd', fail: 'no such city' }))).toMatchObject({
      type: 'MusterTaskFailed',
      message: 'task refused of jobs is failed: no such city',
      details: [{ id: 'refused', state: 'failed', error: 'no such city' }],
    });
    expect(await failureOf(run('one', 'jobs', 'quiet', { to: 'silent' }))).toMatchObject({
      type: 'MusterTaskUnknown',
      message: expect.stringContaining('connection reset'),
    });
  });

  test('what cannot be accepted is refused at once, with the reason', async () => {
    expect(await failureOf(run('one', 'mails', 'x', { to: 'e' }))).toMatchObject({
      type: 'MusterUnknownHandler',
      message: expect.stringMatching(/expected one of "jobs", "late", got "mails"/),
    });
    expect(await failureOf(run('one', 'jobs', 'x', {}))).toMatchObject({
      type: 'MusterInvalidTask',
      message: expect.stringContaining('task 0, target'),
    });
    await run('one', 'jobs', 'taken', { to: 'e' });
    expect(await failureOf(run('one', 'jobs', 'taken', { to: 'f' }))).toMatchObject({
      type: 'MusterInvalidTask',
      message: expect.stringContaining('another payload'),
    });
  });

  test('a task that somebody else submitted is waited for all the same; one that has ended is answered at once', async () => {
    await muster.client.submit('jobs', { id: 'shared', payload: { to: 'g' }, notBefore: Date.now() + 1_500 });
    expect(await run('one', 'jobs', 'shared', { to: 'g' })).toEqual({
      id: 'shared',
      state: 'succeeded',
      result: 'did shared',
    });
    expect(await run('one', 'jobs', 'shared', { to: 'g' })).toEqual({
      id: 'shared',
      state: 'succeeded',
      result: 'did shared',
    });
    expect(seen).toEqual(['shared']);
  });

  test('the caller may continue as new while it waits: one execution, and its result', async () => {
    await muster.client.pause('jobs');
    const waiting = run('continued', 'jobs', 'carried', { to: 'h' });
    const text = `select count(*) as n from task where id = 'carried'`;
    await eventually(async () => (await muster.database.pool.query<{ n: number }>(text)).rows[0]!.n === 1);
    const handle = (await muster.client.temporal()).workflow.getHandle(`${muster.prefix}-run-${runs}`);
    const first = (await handle.describe()).runId;
    await eventually(async () => (await handle.describe()).runId !== first);
    await muster.client.resume('jobs');
    expect(await waiting).toEqual({ id: 'carried', state: 'succeeded', result: 'did carried' });
    expect(seen).toEqual(['carried']);
  });

  test('results too large for a message are fetched; one too large to be kept is left out, and the task says so', async () => {
    const ids = Array.from({ length: 5 }, (_, i) => `large-${i}`);
    const ends = await run<TaskEnd[]>('many', 'jobs', ids, { to: 'i', bytes: 300_000 });
    expect(ends.map((end) => (end.result as string).length)).toEqual(ids.map(() => 300_000));
    expect(await run('one', 'jobs', 'huge', { to: 'i', bytes: 1_100_000 })).toEqual({
      id: 'huge',
      state: 'succeeded',
      result: null,
      resultNote: expect.stringMatching(/^left out: 1100002 bytes of JSON/),
    });
  });

  test('recorded histories replay; with a changed workflow they do not', async () => {
    const client = await muster.client.temporal();
    const history = async (id: string) => client.workflow.getHandle(id).fetchHistory();
    const ids = Array.from({ length: runs }, (_, i) => `${muster.prefix}-run-${i + 1}`);
    for (const id of ids) await Worker.runReplayHistory({ workflowBundle }, await history(id), id);
    const { events } = await history(ids[0]!);
    const waits = events!.flatMap(({ activityTaskScheduledEventAttributes: scheduled }) =>
      scheduled == null ? [] : [Number(scheduled.retryPolicy?.maximumInterval?.seconds)],
    );
    expect(new Set(waits)).toEqual(new Set([10])); // the longest between two tries
    const changed = await bundleWorkflows(require.resolve('./workflows/changed'));
    await expect(Worker.runReplayHistory({ workflowBundle: changed }, await history(ids[0]!), ids[0])).rejects.toThrow(
      /[Nn]ondetermini/,
    );
  });
});

describe('with time skipping', () => {
  let env: TestWorkflowEnvironment;
  beforeAll(async () => {
    env = await TestWorkflowEnvironment.createTimeSkipping({
      server: { executable: { type: 'existing-path', path: testServerPath() } },
    });
  });
  afterAll(() => env.teardown());

  /**
   * Muster's side of the queue as plain functions: what is accepted, and what is answered when
   * asked.
   */
  const withMuster = async <R>(
    fakes: { accepted?: WorkflowSubmitAnswer; ends?: (ids: string[], hours: number) => TaskEnd[] },
    work: (asked: number[]) => Promise<R>,
  ): Promise<R> => {
    const asked: number[] = [];
    const startedAt = await env.currentTimeMs();
    const activities = {
      submitTasks: async (_: { tasks: WorkflowTask[] }) => fakes.accepted ?? { ends: [], foreign: [] },
      readTaskEnds: async ({ ids }: { ids: string[] }) => {
        const hours = ((await env.currentTimeMs()) - startedAt) / 3_600_000;
        asked.push(hours);
        return fakes.ends?.(ids, hours) ?? [];
      },
    };
    const muster = await Worker.create({ connection: env.nativeConnection, taskQueue: 'muster', activities });
    const own = await Worker.create({ connection: env.nativeConnection, taskQueue: 'user', workflowBundle });
    return muster.runUntil(own.runUntil(work(asked)));
  };
  let runs = 0;
  const start = (options: object) =>
    env.client.workflow.start('one', {
      workflowId: `skip-${++runs}`,
      taskQueue: 'user',
      args: ['jobs', 'slow', { to: 'x' }, options],
    });

  test('waits for days without looking more than once an hour; the signal ends it', async () => {
    await withMuster({}, async (asked) => {
      const handle = await start({});
      await env.sleep('30 hours');
      await handle.signal(tasksEndedSignal, {
        handler: 'jobs',
        target: 'x',
        batch: 1,
        tasks: [{ id: 'other', state: 'succeeded' }],
      });
      await handle.signal(tasksEndedSignal, {
        handler: 'jobs',
        target: 'x',
        batch: 1,
        tasks: [{ id: 'slow', state: 'succeeded', result: 7 }],
      });
      expect(await handle.result()).toEqual({ id: 'slow', state: 'succeeded', result: 7 });
      expect(asked.length).toBeGreaterThanOrEqual(28);
      expect(asked.length).toBeLessThanOrEqual(30);
    });
  });

  test('a timeout ends the wait at its time, with a type of its own', async () => {
    await withMuster({}, async () => {
      const handle = await start({ timeout: 90 * 60_000 });
      const message = expect.stringMatching(/slow; the tasks continue/);
      expect(await failureOf(handle.result())).toMatchObject({ type: 'MusterTimeout', message });
      const { startTime, closeTime } = await handle.describe(); // the server's clock may run on once nothing is pending
      const minutes = (closeTime!.getTime() - startTime.getTime()) / 60_000;
      expect(minutes).toBeGreaterThanOrEqual(90);
      expect(minutes).toBeLessThan(91);
    });
  });

  test('a callback that was given up: the task’s end is found within the hour', async () => {
    const ends = (ids: string[], hours: number): TaskEnd[] =>
      hours < 4.5 ? [] : ids.map((id) => ({ id, state: 'dead', error: 'gave up' }));
    await withMuster({ ends }, async (asked) => {
      expect(await failureOf((await start({})).result())).toMatchObject({ type: 'MusterTaskDead' });
      expect(asked.at(-1)).toBeGreaterThan(4.5);
      expect(asked.at(-1)).toBeLessThan(5.6);
    });
  });

  test('waits of one run share a timer, and each is asked about within two hours', async () => {
    const ends = (ids: string[]): TaskEnd[] => ids.map((id) => ({ id, state: 'succeeded' }));
    await withMuster({ ends }, async (asked) => {
      const handle = await env.client.workflow.start('inTurn', {
        workflowId: `skip-${++runs}`,
        taskQueue: 'user',
        args: ['jobs', ['first', 'second', 'third', 'fourth'], { to: 'x' }, {}],
      });
      const told = async (id: string): Promise<void> => {
        await env.sleep('10 minutes');
        const tasks: TaskEnd[] = [{ id, state: 'succeeded' }];
        await handle.signal(tasksEndedSignal, { handler: 'jobs', target: 'x', batch: 1, tasks });
      };
      await told('first');
      await told('second'); // its timer goes on for the third, which begins within that hour
      expect(await handle.result()).toHaveLength(4);
      expect(asked.map(Math.floor)).toEqual([2, 4]); // a timer that runs already covers a part of an hour
      const { events } = await handle.fetchHistory();
      expect(countOf(events!, 'timerStartedEventAttributes')).toBe(1 + 5); // the last begins while it asks
    });
  });

  test('somebody else’s task is asked about soon, then every minute', async () => {
    const ends = (ids: string[], hours: number): TaskEnd[] =>
      hours < 0.5 ? [] : ids.map((id) => ({ id, state: 'succeeded' }));
    await withMuster({ accepted: { ends: [], foreign: ['slow'] }, ends }, async (asked) => {
      expect(await (await start({})).result()).toEqual({ id: 'slow', state: 'succeeded' });
      expect(asked[0]! * 60).toBeLessThan(1); // soon: in the first minute
      expect(asked.length).toBeGreaterThan(28);
      expect(asked.length).toBeLessThan(40);
    });
  });
});
