import { TestWorkflowEnvironment } from '@temporalio/testing';
import type { ApplicationFailure } from '@temporalio/common';
import { WorkflowFailedError } from '@temporalio/client';
import { Worker } from '@temporalio/worker';
import { defineHandler } from '../../handlers';
import type { ItemStatus } from '../../handlers/contract';
import { fakeMuster } from '../../workers/testing';
import type { FakeMuster } from '../../workers/testing';
import { testServerPath } from '../helpers/database';
import { eventually } from '../helpers/eventually';
import { bundleWorkflows } from '../helpers/userWorker';
import type { City, importCity, importLater, spread } from './cityWorkflows';
import '../helpers/muster'; // quiets the SDK's own log, once per test file

/**
 * Users' workflows in an environment whose time skips: hours of lingers and retries in no time.
 *
 * @slow
 */

const HOUR_MS = 3_600_000;
/** Not whole hours: once an hour a workflow asks by itself. */
const LINGER_MS = 1.5 * HOUR_MS;
const answers = new Map<string, ItemStatus[]>();
const handler = defineHandler({
  name: 'index-city',
  target: (city: City) => city.country,
  limits: { maxItems: 3 },
  linger: { lingerMs: LINGER_MS },
  retry: { delayed: { baseMs: 2 * HOUR_MS, maxMs: 2 * HOUR_MS }, maxAttempts: 2 },
  submit: async ({ tasks }) => ({
    results: tasks.map(({ id, payload }) => {
      const status = answers.get(id)?.shift() ?? 'ok';
      return status === 'ok' ? { id, status, result: payload.name.toUpperCase() } : { id, status, error: 'busy' };
    }),
  }),
});

let env: TestWorkflowEnvironment;
let muster: FakeMuster;
let worker: Worker;
let running: Promise<void>;
beforeAll(async () => {
  env = await TestWorkflowEnvironment.createTimeSkipping({
    server: { executable: { type: 'existing-path', path: testServerPath() } },
  });
  muster = await fakeMuster(env, { handlers: [handler] });
  const workflowBundle = await bundleWorkflows(require.resolve('./cityWorkflows'));
  worker = await Worker.create({ connection: env.nativeConnection, taskQueue: 'cities', workflowBundle });
  running = worker.run();
});
afterAll(async () => {
  worker?.shutdown();
  await running;
  await muster?.stop();
  await env?.teardown();
});

const city = (name: string, country = 'se'): City => ({ country, name });
let no = 0;
const options = <A extends unknown[]>(...args: A) => ({ taskQueue: 'cities', workflowId: `w${++no}`, args });

test('a task waits the linger in the time of the environment, which skips it', async () => {
  const startedAt = performance.now();
  const answer = await env.client.workflow.execute<typeof importLater>('importLater', options([city('Lund')], 5_000));
  expect(answer).toEqual({ tookMs: expect.any(Number), ends: [{ id: 'Lund', state: 'succeeded', result: 'LUND' }] });
  expect(answer.tookMs).toBeGreaterThanOrEqual(LINGER_MS);
  expect(answer.tookMs).toBeLessThan(LINGER_MS + 10_000); // what the server's own clock went on by
  expect(performance.now() - startedAt).toBeLessThan(60_000);
});

test('tasks of several workflows share a batch, which goes when it is full', async () => {
  const before = muster.calls('index-city').length;
  const names = ['Oslo', 'Moss', 'Voss'];
  // One result at a time is waited for: each wait lets the environment's time skip, and two at once
  // let it skip while activities run.
  const handles = [];
  for (const name of names)
    handles.push(await env.client.workflow.start<typeof importCity>('importCity', options(city(name, 'no'))));
  const ends = [];
  for (const handle of handles) ends.push(await handle.result());
  expect(ends).toEqual(['OSLO', 'MOSS', 'VOSS']);
  const calls = muster.calls('index-city').slice(before);
  expect(calls.map(({ reason, tasks }) => [reason, tasks.map(({ id }) => id).sort()])).toEqual([
    ['size', [...names].sort()],
  ]);
});

test('what is to be tried again comes back after its wait; without an attempt left it is dead', async () => {
  answers.set('Roma', ['retry', 'ok']);
  answers.set('Pisa', ['retry', 'retry']);
  answers.set('Bari', ['failed']);
  const cities = ['Roma', 'Pisa', 'Bari'].map((name) => city(name, 'it'));
  const { ends, tookMs } = await env.client.workflow.execute<typeof importLater>('importLater', options(cities, 0));
  expect(ends.map(({ id, state }) => [id, state])).toEqual([
    ['Roma', 'succeeded'],
    ['Pisa', 'dead'],
    ['Bari', 'failed'],
  ]);
  expect(tookMs).toBeGreaterThanOrEqual(2 * HOUR_MS + LINGER_MS); // until they may go again, then with others
  expect(muster.task('index-city', 'Roma')).toMatchObject({ attempts: 2, state: 'succeeded' });
});

test('a timeout ends the wait and not the task; a pause keeps it waiting until the resume', async () => {
  await muster.pause('index-city');
  const wait = env.client.workflow.execute<typeof importCity>('importCity', options(city('Köln', 'de'), 60_000));
  const failure = await wait.catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(WorkflowFailedError);
  expect(((failure as WorkflowFailedError).cause as ApplicationFailure).type).toBe('MusterTimeout');
  expect(muster.task('index-city', 'Köln')).toMatchObject({ state: 'created' });
  await muster.resume('index-city');
  await env.sleep(2 * HOUR_MS);
  await eventually(() => muster.task('index-city', 'Köln')?.state === 'succeeded');
});

test('a task that is not accepted, and a handler that is not there, are refused as by Muster', async () => {
  const refused = (name: string, args: City): Promise<string | null | undefined> =>
    env.client.workflow.execute<typeof importCity>(name, options(args)).then(
      () => 'accepted',
      (error: WorkflowFailedError) => (error.cause as ApplicationFailure).type,
    );
  expect(await refused('importCity', { country: '', name: 'Nowhere' })).toBe('MusterInvalidTask');
  expect(() => muster.calls('other')).toThrow('Cannot find the handler: expected one of "index-city", got "other".');
});

test('a workflow waits for its fan-out until all items are acked', async () => {
  const handle = await env.client.workflow.start<typeof spread>('spread', options(3));
  const ids = await eventually(async () => muster.fanouts.ids());
  await muster.fanouts.ack(ids.slice(0, 2));
  await muster.fanouts.ack(ids);
  expect(await handle.result()).toBe(3);
  await expect(muster.fanouts.ack(['x'])).rejects.toThrow('Cannot ack: expected the id of an item that was added');
});
