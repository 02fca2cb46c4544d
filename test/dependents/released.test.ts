import { defineHandler } from '../../handlers';
import type { TestMuster } from '../helpers/muster';
import { startMuster } from '../helpers/muster';
import { expectWhole } from '../helpers/whole';

/** Whatever ends a task releases what waits for it by itself: the sweeper is off. */

type Job = { to: string; fails?: boolean };
const plain = defineHandler<Job>({
  name: 'plain',
  target: ({ to }) => to,
  limits: { maxItems: 8 },
  linger: { lingerMs: 0 },
  submit: ({ tasks }) =>
    Promise.resolve({
      results: tasks.map(({ id, payload }) =>
        payload.fails === true ? { id, status: 'failed' as const, error: 'told to' } : { id, status: 'ok' as const },
      ),
    }),
});
const accepted = defineHandler<Job>({
  name: 'accepted',
  target: ({ to }) => to,
  limits: { maxItems: 8 },
  linger: { lingerMs: 0 },
  submit: ({ tasks }) => Promise.resolve({ status: 'accepted', reference: tasks[0]!.id }),
  poll: { everyMs: 100 },
  status: (references) => Promise.resolve(references.map((reference) => ({ reference, status: 'done' }))),
  results: (reference) => [{ id: reference, status: 'ok' }],
});
const laned = defineHandler<Job>({
  name: 'laned',
  target: ({ to }) => to,
  service: (target) => target,
  limits: { maxItems: 8 },
  linger: { lingerMs: 0 },
  submit: ({ tasks }) => Promise.resolve({ results: tasks.map(({ id }) => ({ id, status: 'ok' as const })) }),
});

let muster: TestMuster;
beforeAll(async () => {
  muster = await startMuster([plain, accepted, laned], { sweepEveryMs: 0 });
});
afterAll(async () => {
  await expectWhole(muster.client);
  await muster.stop();
});

const dependent = (id: string, dependsOn: string) => ({
  id,
  payload: { to: 'there' },
  dependsOn: [dependsOn],
  onDependencyFailure: 'run' as const,
});
const releases = async (dependency: string): Promise<void> => {
  await muster.client.submit('plain', [dependent(`after ${dependency}`, dependency)]);
  const [task] = await muster.client.waitFor([`after ${dependency}`], { timeoutMs: 60_000 });
  expect(task!.state).toBe('succeeded');
};

test.each([
  ['a call that succeeds', 'plain', {}],
  ['a call that fails', 'plain', { fails: true }],
  ['a poll', 'accepted', {}],
  ['a call of a lane', 'laned', {}],
])('%s releases dependents at once', async (how, handler, payload) => {
  await muster.client.submit(handler, [{ id: how, payload: { to: 'here', ...payload } }]);
  await releases(how);
});

test('a cancellation releases dependents at once', async () => {
  await muster.client.submit('plain', [{ id: 'later', payload: { to: 'here' }, notBefore: new Date('2100-01-01') }]);
  await muster.client.submit('plain', [dependent('after later', 'later')]);
  await muster.client.cancel('later');
  const [task] = await muster.client.waitFor(['after later'], { timeoutMs: 60_000 });
  expect(task!.state).toBe('succeeded');
});
