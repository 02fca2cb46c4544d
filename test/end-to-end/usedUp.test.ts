import { defineHandler } from '../../handlers';
import { eventually } from '../helpers/eventually';
import type { TestMuster } from '../helpers/muster';
import { startMuster } from '../helpers/muster';
import { expectPermitted, recordMoves } from '../helpers/transitions/recorded';
import { expectWhole } from '../helpers/whole';

/** Two attempts a task; what a call answers is what the test says next. */
const calls: string[][] = [];
const answers: ('retry' | 'lost' | 'ok')[] = [];
const jobs = defineHandler<{ n: number }>({
  name: 'jobs',
  target: () => 'one',
  limits: { maxItems: 2 },
  linger: { lingerMs: 60_000 },
  retry: { maxAttempts: 2, delayed: { baseMs: 200, maxMs: 200 } },
  onUnknown: 'resend',
  submit: async ({ tasks }) => {
    calls.push(tasks.map(({ id }) => id));
    const answer = answers.shift() ?? 'ok';
    if (answer === 'lost') throw new Error('the connection broke');
    return { results: tasks.map(({ id }) => ({ id, status: answer })) };
  },
});

let muster: TestMuster;
beforeAll(async () => {
  muster = await startMuster([jobs]);
  await recordMoves(muster.database.pool);
});
afterAll(() => muster.stop());

test('a call of unknown outcome: who has an attempt left goes again, who has none is parked [H3 H9]', async () => {
  answers.push('retry', 'lost', 'ok');
  await muster.client.submit(jobs, { id: 'old', payload: { n: 1 } });
  await muster.client.flush('jobs');
  await eventually(async () => (await muster.client.getTask('old'))?.attempts === 1, { what: 'the first attempt' });
  await muster.client.submit(jobs, { id: 'new', payload: { n: 2 } });
  const [fresh, old] = await muster.client.waitFor(['new', 'old'], { timeoutMs: 60_000 });
  expect(calls).toEqual([['old'], expect.arrayContaining(['old', 'new']), ['new']]);
  expect(fresh).toMatchObject({ state: 'succeeded', attempts: 2 });
  expect(old).toMatchObject({ state: 'unknown', attempts: 2, error: expect.stringContaining('the connection broke') });
  await expectWhole(muster.client);
});

// Last: it judges what the tests before it made.
test('each change of a state is one that the table of transitions permits', () =>
  expectPermitted(muster.database.pool, [
    'task: created -> batched',
    'task: batched -> in-progress',
    'task: in-progress -> unknown',
  ]));
