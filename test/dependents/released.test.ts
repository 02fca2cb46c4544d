import pino from 'pino';
import { defineHandler } from '../../handlers';
import type { Batch, ItemResult, SubmitAnswer } from '../../handlers';
import { createAcceptTasks } from '../../workers/acceptTasks';
import { eventually } from '../helpers/eventually';
import type { TestMuster } from '../helpers/muster';
import { startMuster } from '../helpers/muster';
import { expectWhole } from '../helpers/whole';
import { Requests } from '../../workflows/temporal/requests';

/** Whatever ends a task releases what waits for it by itself: the sweeper is off. @slow */

type Job = { to: string; ends?: ItemResult['status'] | 'unknown' };
const submit = async ({ tasks }: Batch<Job>): Promise<SubmitAnswer> => {
  if (tasks.some(({ payload }) => payload.ends === 'unknown')) throw new Error('no answer');
  return {
    results: tasks.map(({ id, payload: { ends = 'ok' } }): ItemResult =>
      ends === 'ok' || ends === 'unknown' ? { id, status: 'ok' } : { id, status: ends, error: 'told to' },
    ),
  };
};
const plain = defineHandler<Job>({
  name: 'plain',
  target: ({ to }) => to,
  limits: { maxItems: 8 },
  linger: { lingerMs: 0 },
  submit,
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
/** Its batches end when somebody tells. */
const told = defineHandler<Job>({
  name: 'told',
  target: ({ to }) => to,
  limits: { maxItems: 8 },
  linger: { lingerMs: 0 },
  submit: ({ tasks }) => Promise.resolve({ status: 'accepted', reference: tasks[0]!.id }),
});
const laned = defineHandler<Job>({
  name: 'laned',
  target: ({ to }) => to,
  service: (target) => target,
  lane: { onInvalid: 'halt' },
  retry: { inPlace: { times: 0 }, delayed: { baseMs: 3_600_000, maxMs: 3_600_000 } },
  limits: { maxItems: 8 },
  linger: { lingerMs: 0 },
  submit,
});

let muster: TestMuster;
beforeAll(async () => {
  muster = await startMuster([plain, accepted, told, laned], { sweepEveryMs: 0 });
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
  ['a call that fails', 'plain', { ends: 'failed' }],
  ['a poll', 'accepted', {}],
  ['a call of a lane', 'laned', {}],
])('%s releases dependents at once', async (how, handler, payload) => {
  await muster.client.submit(handler, [{ id: how, payload: { to: 'here', ...payload } }]);
  await releases(how);
});

/** Waits until the lane stands, and returns the batch that it stands at. */
const standsAt = (service: string): Promise<number> =>
  eventually(async () => {
    const lane = await muster.client.lane(service).catch(() => null); // not there until its first batch is
    return lane?.state === 'halted' || lane?.state === 'delayed' ? lane.batches[0]!.batch : null;
  });
test.each([
  ['a skip', { ends: 'unknown' }, (lane: string) => muster.client.lanes.skip(lane)],
  ['a fix', { ends: 'unknown' }, (lane: string) => muster.client.lanes.fix(lane, { as: 'applied' })],
  ["a batch's cancellation", { ends: 'retry' }, (_: string, batch: number) => muster.client.cancelBatch(batch)],
])('%s in a lane releases dependents at once', async (how, payload, end) => {
  await muster.client.submit('laned', [{ id: how, payload: { to: how, ...payload } }]);
  await muster.client.submit('plain', [dependent(`after ${how}`, how)]);
  await end(how, await standsAt(how));
  const [task] = await muster.client.waitFor([`after ${how}`], { timeoutMs: 60_000 });
  expect(task!.state).toBe('succeeded');
});

test('a cancellation releases dependents at once', async () => {
  await muster.client.submit('plain', [{ id: 'later', payload: { to: 'here' }, notBefore: new Date('2100-01-01') }]);
  await muster.client.submit('plain', [dependent('after later', 'later')]);
  await muster.client.cancel('later');
  const [task] = await muster.client.waitFor(['after later'], { timeoutMs: 60_000 });
  expect(task!.state).toBe('succeeded');
});

const completion = (id: string) => ({ reference: id, results: [{ id, status: 'ok' as const }] });
test.each([
  ['to a client', (id: string) => muster.client.complete('told', completion(id))],
  [
    'to a workflow',
    async (id: string) => {
      const temporal = await muster.client.temporal();
      const args = [{ handler: 'told', ...completion(id) }];
      const { prefix } = muster;
      return temporal.workflow.execute('completion', {
        workflowId: `${prefix}/completion/told/1`,
        taskQueue: prefix,
        args,
      });
    },
  ],
])('a completion that is told %s releases dependents at once', async (how, tell) => {
  await muster.client.submit('told', [{ id: how, payload: { to: how } }]);
  await muster.client.submit('plain', [dependent(`after ${how}`, how)]);
  const isAccepted = { text: 'select from batch where reference = $1', values: [how] };
  await eventually(async () => (await muster.database.pool.query(isAccepted)).rowCount === 1);
  await tell(how);
  const [task] = await muster.client.waitFor([`after ${how}`], { timeoutMs: 60_000 });
  expect(task!.state).toBe('succeeded');
});

test('what depends on tasks that have ended is queued by its submit, from a client and from a workflow', async () => {
  await muster.client.submit('plain', [{ id: 'over', payload: { to: 'here' } }]);
  await muster.client.waitFor(['over'], { timeoutMs: 60_000 });
  await muster.client.submit('plain', [dependent('by a client', 'over')]);
  await muster.client.waitFor(['by a client'], { timeoutMs: 60_000 });
  const { pool } = muster.database;
  const requests = new Requests(await muster.client.temporal());
  const accept = createAcceptTasks({
    pool,
    sealer: null,
    requests,
    prefix: muster.prefix,
    leaseMs: 3_000,
    log: pino({ level: 'silent' }),
  });
  await accept(plain, [dependent('by a workflow', 'over')], { workflowId: 'nobody waits' });
  const [task] = await muster.client.waitFor(['by a workflow'], { timeoutMs: 60_000 });
  expect(task!.state).toBe('succeeded');
});
