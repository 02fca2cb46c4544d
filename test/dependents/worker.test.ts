import { Registry } from 'prom-client';
import { workOffEnded } from '../../activities/grouping/dependents';
import { defineHandler } from '../../handlers';
import type { ItemResult } from '../../handlers';
import { settleSucceeded } from '../../postgres/calls/settle';
import { cancelTasks } from '../../postgres/operations/cancel';
import { inTransaction } from '../../postgres/pool';
import { TASK_STATES } from '../../workflows/planning/states';
import { cut } from '../client/shop';
import type { TaskView } from '../../client';
import { eventually } from '../helpers/eventually';
import type { TestMuster } from '../helpers/muster';
import { startMuster } from '../helpers/muster';
import { expectPermitted, recordMoves } from '../helpers/transitions/recorded';
import { expectWhole } from '../helpers/whole';

interface Step {
  to: string;
  /** What its calls answer, one after the other; then ok. */
  answers?: Answer[];
}
type Answer = 'failed' | 'retry' | 'unknown';

/** Ids in the order in which the downstream got them. */
const sent: string[] = [];
const steps = defineHandler<Step>({
  name: 'steps',
  target: ({ to }) => to,
  limits: { maxItems: 10 },
  linger: { lingerMs: 0 },
  retry: { inPlace: { times: 0 }, delayed: { baseMs: 50, maxMs: 50 } },
  submit: async (batch) => {
    sent.push(...batch.tasks.map(({ id }) => id));
    if (batch.tasks.some(({ id, payload }) => next(id, payload) === 'unknown')) throw new Error('no answer');
    return {
      results: batch.tasks.map(({ id, payload }): ItemResult => {
        const status = next(id, payload) ?? 'ok';
        return { id, status, error: status === 'ok' ? undefined : `told to ${status}` };
      }),
    };
  },
});
const next = (id: string, { answers = [] }: Step): Answer | undefined =>
  answers[sent.filter((one) => one === id).length - 1];

let muster: TestMuster;
beforeAll(async () => {
  muster = await startMuster([steps]);
  await recordMoves(muster.database.pool);
});
afterAll(async () => {
  await expectWhole(muster.client);
  await muster.stop();
});

const step = (id: string, payload: Partial<Step> = {}, dependsOn: string[] = [], rest: object = {}) => ({
  id,
  payload: { to: id, ...payload },
  dependsOn,
  ...rest,
});
const ended = (...ids: string[]): Promise<TaskView[]> => muster.client.waitFor(ids, { timeoutMs: 60_000 });

test('tasks go one after the other as they depend on each other, across targets', async () => {
  await muster.client.submit('steps', [step('c', {}, ['b']), step('b', {}, ['a']), step('a')]);
  expect((await ended('a', 'b', 'c')).map(({ state }) => state)).toEqual(['succeeded', 'succeeded', 'succeeded']);
  expect(sent).toEqual(['a', 'b', 'c']);
});

test('a dependency that is tried again keeps its dependents waiting until it has succeeded', async () => {
  await muster.client.submit('steps', [step('tries', { answers: ['retry', 'retry'] }), step('patient', {}, ['tries'])]);
  expect((await ended('tries', 'patient')).map(({ state }) => state)).toEqual(['succeeded', 'succeeded']);
  expect(sent.slice(-4)).toEqual(['tries', 'tries', 'tries', 'patient']);
});

test('a dependency that fails fails its dependents unsent, and lets those run that run anyway', async () => {
  await muster.client.submit('steps', [
    step('bad', { answers: ['failed'] }),
    step('never', {}, ['bad']),
    step('never either', {}, ['never']),
    step('still', {}, ['bad', 'never either'], { onDependencyFailure: 'run' }),
  ]);
  const tasks = await ended('bad', 'never', 'never either', 'still');
  expect(tasks.map(({ id, state, error }) => [id, state, error])).toEqual([
    ['bad', 'failed', 'told to failed'],
    ['never', 'failed', 'dependency "bad" failed'],
    ['never either', 'failed', 'dependency "never" failed'],
    ['still', 'succeeded', null],
  ]);
  expect(sent).not.toContain('never');
});

test('a parked dependency keeps its dependents waiting until it is resolved', async () => {
  await muster.client.submit('steps', [
    step('doubtful', { answers: ['unknown'] }),
    step('waits', {}, ['doubtful']),
    step('dubious', { answers: ['unknown'] }),
    step('waits too', {}, ['dubious']),
  ]);
  await ended('doubtful', 'dubious');
  expect((await muster.client.getTasks(['waits', 'waits too'])).map(({ state }) => state)).toEqual([
    'created',
    'created',
  ]);
  await muster.client.tasks.resolve(['doubtful'], { as: 'succeeded' });
  await muster.client.tasks.resolve(['dubious'], { as: 'failed', error: 'it was not there' });
  expect((await ended('waits', 'waits too')).map(({ state, error }) => [state, error])).toEqual([
    ['succeeded', null],
    ['failed', 'dependency "dubious" failed'],
  ]);
});

test('a released task waits for the resume of its handler', async () => {
  await muster.client.submit('steps', [step('before'), step('after', {}, ['before', 'gate']), step('gate')]);
  await ended('before', 'gate', 'after');
  await muster.client.pause('steps', { reason: 'a test' });
  await muster.client.submit('steps', step('later', {}, ['after']));
  await eventually(async () => (await muster.database.pool.query('select from held')).rowCount === 0);
  expect((await muster.client.explain('later')).waitsFor).toBe('pause');
  await muster.client.resume('steps');
  expect((await ended('later'))[0]!.state).toBe('succeeded');
});

test('what a process leaves that dies before it releases, or before it wakes the leader, the sweeper repeats', async () => {
  const { pool } = muster.database;
  const settled = async (id: string): Promise<void> => {
    const batch = await cut(pool, [id], { dispatch: null });
    // As its call is marked.
    await pool.query('update batch set attempt = 1, started_at = clock() where id = $1', [batch]);
    expect(await settleSucceeded(pool, [{ id: batch, attempt: 1, counts: true }], [], [])).toEqual(
      new Map([[batch, true]]),
    );
  };
  const never = { notBefore: '2099-01-01' };
  await muster.client.submit('steps', [step('unreleased', {}, [], never), step('left', {}, ['unreleased'])]);
  await settled('unreleased');
  expect((await ended('left'))[0]!.state).toBe('succeeded');
  await muster.client.submit('steps', [step('unrung', {}, [], never), step('silent', {}, ['unrung'])]);
  await settled('unrung');
  await workOffEnded(pool);
  expect((await ended('silent'))[0]!.state).toBe('succeeded');
});

test('dependents that only the sweeper fails are counted as the others are', async () => {
  const { pool } = muster.database;
  const registry = new Registry();
  muster.node.deps.outcomes!.meters.register(registry);
  const counted = async (): Promise<number> => {
    const { values } = await registry.getSingleMetric('muster_task_ends_total')!.get();
    return values.find(({ labels }) => labels['handler'] === 'steps' && labels['state'] === 'failed')!.value;
  };
  const never = { notBefore: '2099-01-01' };
  await muster.client.submit('steps', [step('given-up', {}, [], never), step('vain', {}, ['given-up'])]);
  const before = await counted();
  await inTransaction(pool, (tx) => cancelTasks(tx, ['given-up'], { state: TASK_STATES.cancelled, error: null }));
  expect((await ended('vain'))[0]!.state).toBe('failed');
  await eventually(async () => (await counted()) === before + 1);
});

// Last: it judges what the tests before it made.
test('each change of a state is one that the table of transitions permits', () =>
  expectPermitted(muster.database.pool, [
    'task: created -> failed',
    'task: in-progress -> failed',
    'task: unknown -> succeeded',
  ]));
