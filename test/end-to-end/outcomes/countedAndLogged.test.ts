import pino from 'pino';
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
  muster = await startMuster([jobs, inLane], { log, executions });
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
