import { defineHandler, HaltError } from '../../handlers';
import type { Batch, SubmitAnswer } from '../../handlers';
import type { TaskView } from '../../client';
import { eventually } from '../helpers/eventually';
import { rounds } from '../helpers/long';
import type { TestMuster } from '../helpers/muster';
import { expectPermitted, recordMoves } from '../helpers/transitions/recorded';
import { expectWhole } from '../helpers/whole';
import { startMuster } from '../helpers/muster';

interface Job {
  to: string;
  key?: string;
}

/** The downstream as the test wants it now; by default everything is ok. */
const ok = (batch: Batch): SubmitAnswer => ({
  results: batch.tasks.map((task) => ({ id: task.id, status: 'ok' as const, result: task.id })),
});
let answer: (batch: Batch) => SubmitAnswer | Promise<SubmitAnswer> = ok;
const calls: string[][] = [];
const submit = async (batch: Batch): Promise<SubmitAnswer> => {
  calls.push(batch.tasks.map((task) => task.id));
  return answer(batch);
};
const common = { target: (job: Job) => job.to, retry: { inPlace: { times: 0 } }, leaders: 2 };
const jobs = defineHandler<Job>({
  ...common,
  name: 'jobs',
  limits: { maxItems: 20 },
  linger: { lingerMs: 20 },
  bisect: false,
  submit,
});
const slow = defineHandler<Job>({
  ...common,
  name: 'slow',
  limits: { maxItems: 20 },
  linger: { lingerMs: 600_000 },
  submit,
});
const keyed = defineHandler<Job>({
  ...common,
  name: 'keyed',
  limits: { maxItems: 20 },
  linger: { lingerMs: 20 },
  distinctBy: (job) => job.key!,
  submit,
});

let muster: TestMuster;
beforeAll(async () => {
  muster = await startMuster([jobs, slow, keyed]);
  await recordMoves(muster.database.pool);
});
afterAll(() => muster.stop());
beforeEach(() => {
  answer = ok;
  calls.length = 0;
});
afterEach(() => expectWhole(muster.client));

let round = 0;
const name = (prefix: string, n: number): string[] => {
  round++;
  return Array.from({ length: n }, (_, i) => `${prefix}-${round}-${i}`);
};
const put = (handler: string, ids: string[], to: string, key?: string): Promise<unknown> =>
  muster.client.submit(
    handler,
    ids.map((id) => ({ id, payload: { to, ...(key === undefined ? {} : { key }) } })),
  );
const states = (tasks: TaskView[]): string[] => [...new Set(tasks.map((task) => task.state))].sort();
const wait = (ids: string[]): Promise<TaskView[]> => muster.client.waitFor(ids, { timeoutMs: 60_000 });

test('waitFor answers every task with its own result', async () => {
  const ids = name('plain', 45);
  await put('jobs', ids, 'se');
  const tasks = await wait(ids);
  expect(tasks.map((task) => [task.id, task.state, task.result, task.attempts])).toEqual(
    ids.map((id) => [id, 'succeeded', id, 1]),
  );
});

test('a flush sends what lingers, with its reason on the batch; the next one lingers again [G6]', async () => {
  const ids = name('flushed', 3);
  await put('slow', ids, 'se');
  expect(await muster.client.explain(ids[0]!)).toMatchObject({ waitsFor: 'linger' });
  expect(await muster.client.flush('slow', 'se')).toEqual({ targets: 1, tasks: 3 });
  const [task] = await wait(ids);
  expect(await muster.client.batch(task!.batch!)).toMatchObject({ reason: 'manual', n: 3, state: 'succeeded' });
  expect((await muster.client.status('slow'))[0]).toMatchObject({ flushReasons: { manual: 1 }, identityHolds: true });
  expect(await muster.client.flush('slow')).toEqual({ targets: 0, tasks: 0 });
  const next = name('flushed', 1);
  await put('slow', next, 'se');
  await expect(muster.client.waitFor(next, { timeoutMs: 400 })).rejects.toMatchObject({ code: 'TIMEOUT' });
  expect(await muster.client.cancel(next)).toMatchObject({ cancelled: next });
});

test('a shorter linger of one target takes effect at once [G5]', async () => {
  const ids = name('tuned', 2);
  await put('slow', ids, 'tuned');
  await muster.client.setTarget('slow', 'tuned', { lingerMs: 10 });
  expect(states(await wait(ids))).toEqual(['succeeded']);
  await muster.client.setTarget('slow', 'tuned', null);
});

test('pause and resume, of a handler and of one target; what waited goes on by itself', async () => {
  const [held, free] = [name('held', 3), name('free', 3)];
  const first = name('known', 1);
  await put('jobs', first, 'held'); // a target is known from its first task on
  await wait(first);
  await muster.client.pause('jobs', { target: 'held' });
  await put('jobs', held, 'held');
  await put('jobs', free, 'free');
  expect(states(await wait(free))).toEqual(['succeeded']);
  expect(await muster.client.explain(held[0]!)).toMatchObject({ state: 'created', waitsFor: 'pause' });
  await muster.client.pause('jobs', { reason: 'window' });
  await muster.client.resume('jobs', { target: 'held' });
  expect(await muster.client.explain(held[0]!)).toMatchObject({
    waitsFor: 'pause',
    text: expect.stringContaining('window') as string,
  });
  expect(calls.flat()).not.toContain(held[0]);
  await muster.client.resume('jobs');
  expect(states(await wait(held))).toEqual(['succeeded']);
});

test('ring: a storm of pauses and resumes under load loses nothing', async () => {
  const ids: string[] = [];
  for (let i = 0; i < rounds(8, 25); i++) {
    const some = name('storm', 12);
    ids.push(...some);
    const target = i % 2 === 0 ? {} : { target: 'held' };
    await Promise.all([
      put('jobs', some.slice(0, 6), 'held'),
      put('jobs', some.slice(6), `storm${i % 4}`),
      muster.client.pause('jobs', target).then(() => muster.client.resume('jobs', target)),
    ]);
  }
  expect(states(await wait(ids))).toEqual(['succeeded']);
  expect(calls.flat().sort()).toEqual([...ids].sort());
});

test('a HaltError pauses the handler with its reason; a resume sends the same tasks, no attempt counted [H4]', async () => {
  const ids = name('halted', 4);
  answer = () => {
    throw new HaltError('401: the key has expired');
  };
  await put('jobs', ids, 'se');
  const [status] = await eventually(async () => {
    const found = await muster.client.status('jobs');
    return found[0]!.paused === null ? null : found;
  });
  expect(status!.paused!.reason).toContain('401: the key has expired');
  await eventually(async () => (await muster.client.getTasks(ids)).every((task) => task.state === 'created'));
  expect(await muster.client.explain(ids[0]!)).toMatchObject({
    waitsFor: 'pause',
    text: expect.stringContaining('401') as string,
  });
  answer = ok;
  await muster.client.resume('jobs');
  expect((await wait(ids)).map((task) => `${task.state} ${task.attempts}`)).toEqual(Array(4).fill('succeeded 1'));
});

test('failed tasks are redriven with fresh attempts, alone or with their whole batch [G9]', async () => {
  const ids = name('failed', 6);
  answer = (batch) => ({
    results: batch.tasks.map((task, i) =>
      i % 2 === 0 ? { id: task.id, status: 'failed' as const, error: 'no' } : { id: task.id, status: 'ok' as const },
    ),
  });
  await put('jobs', ids, 'se');
  expect((await wait(ids)).filter((task) => task.state === 'failed')).toHaveLength(3);
  const whole = name('whole', 3);
  answer = () => ({ status: 'rejected', error: '422' });
  await put('jobs', whole, 'no');
  expect(states(await wait(whole))).toEqual(['failed']);
  answer = ok;
  expect(await muster.client.redrive('jobs', { only: 'failed' })).toEqual({ redriven: 6 });
  const tasks = await wait([...ids, ...whole]);
  expect(states(tasks)).toEqual(['succeeded']);
  expect(tasks.every((task) => task.attempts === 1)).toBe(true);
  expect((await muster.client.status('jobs'))[0]).toMatchObject({ counts: { failed: 0 }, identityHolds: true });
});

test('parked tasks: redriven, resolved as created, as succeeded, as failed [G9 G11 H3]', async () => {
  const ids = name('parked', 8);
  answer = () => {
    throw new Error('connection reset');
  };
  await put('jobs', ids, 'se');
  const parked = await wait(ids);
  expect(states(parked)).toEqual(['unknown']);
  expect(parked[0]!.error).toContain('connection reset');
  answer = ok;
  expect(await muster.client.redrive('jobs', { only: 'unknown', ids: ids.slice(0, 2) })).toEqual({ redriven: 2 });
  expect((await wait(ids.slice(0, 2))).map((task) => `${task.state} ${task.attempts}`)).toEqual([
    'succeeded 1',
    'succeeded 1',
  ]);
  expect(await muster.client.resolve({ tasks: ids.slice(2, 4) }, { as: 'created' })).toEqual({ resolved: 2 });
  expect((await wait(ids.slice(2, 4))).map((task) => `${task.state} ${task.attempts}`)).toEqual([
    'succeeded 2',
    'succeeded 2',
  ]);
  expect(await muster.client.resolve({ tasks: [ids[4]!] }, { as: 'failed', error: 'lost' })).toEqual({ resolved: 1 });
  const batch = (await muster.client.getTask(ids[5]!))!.batch!;
  expect(await muster.client.resolve({ batch }, { as: 'succeeded', result: 'by hand' })).toEqual({ resolved: 3 });
  const ends = (await muster.client.getTasks(ids.slice(4))).map((task) => [task.state, task.result ?? task.error]);
  expect(ends).toEqual([['failed', 'lost'], ...Array<unknown>(3).fill(['succeeded', 'by hand'])]);
});

test('a parked task keeps its key until it is resolved; then the next one goes [H6]', async () => {
  const [first, second] = name('keyed', 2) as [string, string];
  answer = () => {
    throw new Error('connection reset');
  };
  await put('keyed', [first], 'se', 'k');
  await wait([first]);
  answer = ok;
  await put('keyed', [second], 'se', 'k');
  expect(await muster.client.explain(second)).toMatchObject({
    waitsFor: 'key',
    facts: { queued: { keyHolder: first } },
  });
  await expect(muster.client.waitFor(second, { timeoutMs: 300 })).rejects.toMatchObject({ code: 'TIMEOUT' });
  await muster.client.resolve({ tasks: [first] }, { as: 'succeeded' });
  expect(states(await wait([second]))).toEqual(['succeeded']);
});

test('redriven tasks of one key are never in flight together [H6]', async () => {
  const ids = name('serial', 4);
  answer = (batch) => ({
    results: batch.tasks.map((task) => ({ id: task.id, status: 'failed' as const, error: 'no' })),
  });
  await put('keyed', ids, 'no', 'k');
  expect(states(await wait(ids))).toEqual(['failed']);
  calls.length = 0;
  let inFlight = 0;
  let most = 0;
  answer = async (batch) => {
    most = Math.max(most, (inFlight += batch.tasks.length));
    await new Promise((resolve) => setTimeout(resolve, 20));
    inFlight -= batch.tasks.length;
    return ok(batch);
  };
  expect(await muster.client.redrive('keyed', { only: 'failed', target: 'no' })).toEqual({ redriven: 4 });
  expect(states(await wait(ids))).toEqual(['succeeded']);
  expect(most).toBe(1);
  expect(calls).toEqual(ids.map((id) => [id]));
});

// Last: it judges what the tests before it made.
test('each change of a state is one that the table of transitions permits', () =>
  expectPermitted(muster.database.pool, [
    'batch: failed -> dissolved',
    'batch: unknown -> dissolved',
    'task: created -> cancelled',
    'task: failed -> created',
    'task: unknown -> created',
  ]));
