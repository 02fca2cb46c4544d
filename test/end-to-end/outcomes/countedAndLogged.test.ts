import pino from 'pino';
import { openWorld } from '../../api/world';
import { defineHandler, LaterError } from '../../../handlers';
import type { FunctionCall } from '../../../handlers/functions';
import type { MetricsServer } from '../../../workers/metrics/server';
import { startMetrics } from '../../../workers/metrics/server';
import { functionsOf } from '../../executions/functions';
import { eventually } from '../../helpers/eventually';
import type { TestMuster } from '../../helpers/muster';
import { startMuster } from '../../helpers/muster';

/** What became of calls and tasks is counted and logged by the worker that recorded it. */

type Wish = 'ok' | 'retry' | 'failed' | 'unknown';
let refusals = 0;
const submit = (tasks: readonly { id: string; payload: { as: Wish } }[]) => {
  if (refusals-- > 0) throw new LaterError('full', { retryAfterMs: 10 });
  const of = (as: Wish) => (as === 'ok' ? { status: as } : { status: as, error: `it is ${as}` });
  return Promise.resolve({ results: tasks.map(({ id, payload }) => ({ id, ...of(payload.as) })) });
};
const jobs = defineHandler<{ to: string; as: Wish }>({
  name: 'jobs',
  target: ({ to }) => to,
  limits: { maxItems: 500 },
  linger: { lingerMs: 50 },
  retry: { maxAttempts: 2, delayed: { baseMs: 10, maxMs: 10 } },
  submit: ({ tasks }, { log }) => {
    log.info({ sent: tasks.length, target: 'of the line' }, 'the handler calls');
    return submit(tasks);
  },
});
const inLane = defineHandler<{ to: string; as: Wish }>({
  name: 'lanes',
  target: ({ to }) => to,
  service: (to) => to,
  limits: { maxItems: 500 },
  linger: { lingerMs: 50 },
  submit: ({ tasks }) => submit(tasks),
});

const accepting = defineHandler<{ to: string; as: Wish }>({
  name: 'accepting',
  target: ({ to }) => to,
  limits: { maxItems: 500 },
  linger: { lingerMs: 50 },
  submit: ({ target }) => Promise.resolve({ status: 'accepted', reference: target }),
  poll: { everyMs: 600_000 },
  status: (references) => Promise.resolve(references.map((reference) => ({ reference, status: 'pending' as const }))),
  results: () => Promise.resolve([]),
});

interface Line {
  level: number;
  msg: string;
  handler: string;
  target: string;
  batch: number;
  tasks: number;
  ends: Record<string, number>;
  outcome?: string;
  sent?: number;
  attempt?: number;
  first?: { task: string; state: string; error: string }[];
}
const lines: Line[] = [];
let muster: TestMuster;
let server: MetricsServer;
beforeAll(async () => {
  const log = pino({ level: 'debug' }, { write: (line: string) => lines.push(JSON.parse(line) as Line) });
  const functions = { note: (args: readonly string[], call: FunctionCall) => call.log.info({ args }, 'noted') };
  const executions = { ...functionsOf(functions), rollCallMs: 500 };
  muster = await startMuster([jobs, inLane, accepting], { log, executions });
  const { deps } = muster.node;
  server = await startMetrics({ pool: muster.database.pool, port: 0, outcomeMeters: deps.outcomes?.meters });
});
afterAll(async () => {
  await server.stop();
  await muster.stop();
});

const metrics = async (): Promise<Map<string, number>> => {
  const text = await (await fetch(`${server.url}/metrics`)).text();
  const values = text.split('\n').map((line) => /^(\S+) (\S+)$/.exec(line));
  return new Map(values.flatMap((found) => (found === null ? [] : [[found[1]!, Number(found[2])]])));
};
const run = async (handler: string, to: string, wishes: readonly Wish[]): Promise<Line[]> => {
  const ids = wishes.map((_, i) => `${to}-${i}`);
  await muster.client.submit(
    handler,
    wishes.map((as, i) => ({ id: ids[i]!, payload: { to, as } })),
  );
  await muster.client.waitFor(ids);
  const own = (): Line[] => lines.filter((line) => line.target === to && 'ends' in line);
  await eventually(() => own().length > 0);
  return own();
};
const ends = async (handler: string): Promise<Record<string, number>> => {
  const all = await metrics();
  const states = ['succeeded', 'failed', 'dead', 'cancelled', 'unknown', 'retried'];
  return Object.fromEntries(
    states.map((state) => [state, all.get(`muster_task_ends_total{handler="${handler}",state="${state}"}`)!]),
  );
};
const NONE = { succeeded: 0, failed: 0, dead: 0, cancelled: 0, unknown: 0, retried: 0 };

test.each(['jobs', 'lanes'])(
  '%s: counters begin at 0, and a batch that succeeds is a line of level debug',
  async (handler) => {
    expect(await ends(handler)).toEqual(NONE);
    const told = await run(handler, `${handler}-good`, ['ok', 'ok', 'ok']);
    expect(told).toMatchObject([{ level: 20, handler, target: `${handler}-good`, tasks: 3, ends: { succeeded: 3 } }]);
    expect(await ends(handler)).toEqual({ ...NONE, succeeded: 3 });
    const all = await metrics();
    expect(all.get(`muster_calls_total{handler="${handler}",outcome="results"}`)).toBe(1);
    expect(all.get(`muster_call_tasks_sum{handler="${handler}"}`)).toBe(3);
    expect(all.get(`muster_call_tasks_count{handler="${handler}"}`)).toBe(1);
    expect(all.get(`muster_call_seconds_count{handler="${handler}"}`)).toBe(1);
    expect(all.get(`muster_call_seconds_sum{handler="${handler}"}`)).toBeGreaterThan(0);
  },
);

test('failed, dead and unknown tasks are counted, and named in a warning with their errors', async () => {
  const before = await ends('jobs');
  const told = await run('jobs', 'mixed', ['ok', 'failed', 'unknown', 'retry']);
  const after = await ends('jobs');
  const added = Object.fromEntries(Object.entries(after).map(([state, n]) => [state, n - before[state]!]));
  expect(added).toEqual({ ...NONE, succeeded: 1, failed: 1, unknown: 1, retried: 1, dead: 1 });
  expect(told[0]).toMatchObject({ level: 40, ends: { succeeded: 1, failed: 1, unknown: 1, retried: 1 } });
  expect(told[0]!.first).toEqual([
    { task: 'mixed-1', state: 'failed', error: 'it is failed' },
    { task: 'mixed-2', state: 'unknown', error: 'it is unknown' },
  ]);
  expect(told[1]).toMatchObject({
    level: 40,
    ends: { dead: 1 },
    first: [{ task: 'mixed-3', state: 'dead', error: 'it is retry' }],
  });
});

test('a warning names at most ten tasks, and counts all', async () => {
  const [line] = await run(
    'jobs',
    'many',
    Array.from({ length: 30 }, () => 'failed' as const),
  );
  expect(line).toMatchObject({ level: 40, ends: { failed: 30 } });
  expect(line!.first).toHaveLength(10);
});

test('a call that the downstream refuses for now is counted, and a line of level info', async () => {
  const before = (await metrics()).get('muster_calls_total{handler="jobs",outcome="later"}')!;
  refusals = 1;
  const told = await run('jobs', 'later', ['ok']);
  expect((await metrics()).get('muster_calls_total{handler="jobs",outcome="later"}')! - before).toBe(1);
  expect(told.map(({ level }) => level)).toEqual([30, 20]);
  expect(told[0]).toMatchObject({ outcome: 'wait', ends: {} });
});

test('what a handler logs says of which call it is, also for a batch that is sent again', async () => {
  refusals = 1;
  const [first] = await run('jobs', 'logging', ['ok', 'ok']);
  const said = lines.filter(({ msg, target }) => msg === 'the handler calls' && target === 'logging');
  expect(said).toMatchObject(
    [1, 2].map((attempt) => ({
      ...{ level: 30, handler: 'jobs', batch: first!.batch, attempt, sent: 2 },
    })),
  );
});

test('what a function of an execution logs says of which item it is', async () => {
  const execution = await muster.client.execute({ functionId: 'note', method: 'run' }, [['a'], ['b']]);
  await execution.wait({ timeoutMs: 30_000 });
  const said = lines.filter(({ msg }) => msg === 'noted') as unknown as { position: number; args: string[] }[];
  expect(said.sort((a, b) => a.position - b.position)).toMatchObject(
    ['a', 'b'].map((arg, position) => ({ function: 'note', execution: execution.id, position, args: [arg] })),
  );
});

/** Waits for lines about tasks that no call has ended. */
const unsent = (msg: RegExp): Promise<Line[]> =>
  eventually(() => {
    const found = lines.filter((line) => msg.test(line.msg));
    return found.length > 0 && found;
  });

test('tasks that expire are counted, and a warning names the first of them', async () => {
  const before = await ends('jobs');
  const tasks = Array.from({ length: 12 }, (_, i) => ({
    id: `late-${i}`,
    payload: { to: 'late', as: 'ok' as const },
    notBefore: '2098-01-01T00:00:00Z',
    expiresAt: '2099-01-01T00:00:00Z',
  }));
  await muster.client.submit('jobs', tasks);
  await muster.database.pool.query(`update expiry set at = clock() - interval '1 s'`);
  const [line] = await unsent(/failed unsent: .* expiresAt had passed/);
  expect(line).toMatchObject({ level: 40, handler: 'jobs', tasks: 12 });
  expect(line!.first).toHaveLength(10);
  expect(line!.first![0]).toEqual({
    task: expect.stringMatching(/^late-/) as string,
    state: 'failed',
    error: expect.stringMatching(/^Expired/) as string,
  });
  expect((await ends('jobs'))['failed']! - before['failed']!).toBe(12);
});

test('so are tasks that fail since one that they depend on did', async () => {
  const before = await ends('jobs');
  await muster.client.submit('jobs', [
    { id: 'needed', payload: { to: 'needed', as: 'failed' } },
    { id: 'needs', payload: { to: 'needs', as: 'ok' }, dependsOn: ['needed'] },
  ]);
  const [line] = await unsent(/failed unsent: a task that they depend on/);
  expect(line).toMatchObject({ level: 40, handler: 'jobs', tasks: 1, first: [{ task: 'needs', state: 'failed' }] });
  expect((await ends('jobs'))['failed']! - before['failed']!).toBe(2);
});

test('so are those of a batch of a lane, one on which it depends having been skipped', async () => {
  const { client } = muster;
  const before = await ends('lanes');
  const task = (id: string, as: Wish) => [{ id, payload: { to: id, as } }];
  await client.submitBatch('lanes', 'lost', task('lost', 'unknown'));
  const first = await eventually(async () => (await client.lanes.get('lost'))?.haltedBy);
  const { batch } = await client.submitBatch('lanes', 'behind', task('behind', 'ok'), { dependsOn: [first] });
  await client.skipHead('lost');
  const [line] = await unsent(/failed unsent: a batch that theirs depends on/);
  expect(line).toMatchObject({ level: 40, handler: 'lanes', batches: 1, firstBatches: [batch], tasks: 1 });
  expect((await client.getTask('behind'))!.state).toBe('failed');
  expect((await ends('lanes'))['failed']! - before['failed']!).toBe(1);
});

describe('what the downstream reports of a batch that it had accepted', () => {
  const accepted = async (to: string): Promise<void> => {
    await muster.client.submit('accepting', [
      { id: `${to}-0`, payload: { to, as: 'ok' } },
      { id: `${to}-1`, payload: { to, as: 'ok' } },
    ]);
    await eventually(() => lines.some((line) => line.target === to && line.msg === 'a batch is tried again, or waits'));
  };
  const report = (to: string): object => ({
    reference: to,
    results: [
      { id: `${to}-0`, status: 'ok' },
      { id: `${to}-1`, status: 'failed', error: 'no such job' },
    ],
  });
  const told = (to: string): object => ({
    level: 40,
    target: to,
    ends: { succeeded: 1, failed: 1 },
    first: [{ task: `${to}-1`, state: 'failed', error: 'no such job' }],
  });

  test('is counted and logged by the worker that takes it', async () => {
    const before = await ends('accepting');
    await accepted('by-workflow');
    const { temporal } = muster.node.deps;
    await temporal.workflow.execute('completion', {
      taskQueue: muster.prefix,
      workflowId: `${muster.prefix}/completion/accepting/1`,
      args: [{ handler: 'accepting', ...report('by-workflow') }],
    });
    expect(lines.filter(({ level, target }) => level === 40 && target === 'by-workflow')).toMatchObject([
      told('by-workflow'),
    ]);
    const after = await ends('accepting');
    expect([after['succeeded']! - before['succeeded']!, after['failed']! - before['failed']!]).toEqual([1, 1]);
  });

  test('or by the API, with what fails because of it', async () => {
    await accepted('by-api');
    await muster.client.submit('jobs', {
      id: 'waits-for-api',
      payload: { to: 'api', as: 'ok' },
      dependsOn: ['by-api-1'],
    });
    const before = await ends('jobs');
    const api = await openWorld({ muster, handlers: [jobs, inLane, accepting] });
    try {
      const { status } = await api.call('POST /v1/handlers/accepting/complete', { body: report('by-api') });
      expect(status).toBe(200);
      await muster.client.waitFor('waits-for-api');
      const logged = api.logged.map((line) => JSON.parse(line) as Line);
      expect(logged).toContainEqual(expect.objectContaining(told('by-api')));
      const { text } = await api.call('GET /metrics');
      for (const state of ['succeeded', 'failed'])
        expect(text).toContain(`muster_task_ends_total{handler="accepting",state="${state}"} 1`);
      // Whichever came first, this process or the worker, has ended what depends on it.
      await eventually(async () => {
        const all = (await api.call('GET /metrics')).text;
        const ofApi = Number(/ends_total\{handler="jobs",state="failed"\} (\d+)/.exec(all)![1]);
        return ofApi + (await ends('jobs'))['failed']! - before['failed']! === 1;
      });
    } finally {
      await api.stop();
    }
  });
});
