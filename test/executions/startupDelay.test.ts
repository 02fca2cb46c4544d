import type { Execution } from '../../client';
import { eventually } from '../helpers/eventually';
import type { Fleet } from './helpers';
import { ended, lists, openFleet, Runs } from './helpers';
import { Starts } from './starts';

/** After a full restart executions are resumed after a delay: their nodes come back first. @slow */

const DELAY_MS = 5_000;
const runs = new Runs();
let fleet: Fleet;
beforeAll(async () => {
  fleet = await openFleet({ echo: runs.echo }, { startupDelayMs: DELAY_MS });
});
afterAll(() => fleet.stop());

const starts = new Starts();

/** Accepts an execution that no workflow leads, and that should have been looked at by now. */
const acceptUnled = async (): Promise<Execution> => {
  const { workflow } = await fleet.client.temporal();
  const send = workflow.signalWithStart.bind(workflow);
  workflow.signalWithStart = () => Promise.reject(new Error('the process is gone'));
  const execution = await fleet.run('echo', lists(2));
  workflow.signalWithStart = send;
  const past = `update execution set resume_at = clock() - interval '1 s' where id = $1`;
  await fleet.database.pool.query(past, [execution.id]);
  return execution;
};
const startOf = ({ id }: Execution) => eventually(() => starts.of(id));

test('an open execution waits for the rest of the delay, is not stuck meanwhile; a later one does not', async () => {
  const first = await acceptUnled();
  const begunAt = performance.now();
  // A silence of 2 s is too long here: the delay must not count as one.
  await fleet.node({}, { sweepEveryMs: 100, stuck: { silentMs: 2_000 }, interceptors: starts.interceptors });
  const { resumeAfterMs, runId } = await startOf(first);
  const startedAt = performance.now();
  // What has passed since the node began counts, and on a busy machine that is more than a moment.
  expect(resumeAfterMs).toBeGreaterThanOrEqual(Math.max(1, DELAY_MS - (startedAt - begunAt)));
  expect(resumeAfterMs).toBeLessThanOrEqual(DELAY_MS);
  expect(await ended(first)).toMatchObject({ state: 'done' });
  expect(performance.now() - startedAt).toBeGreaterThan(resumeAfterMs - 500);
  expect(starts.all.filter(({ id }) => id === first.id).map((one) => one.runId)).toEqual([runId]);

  const second = await acceptUnled();
  expect(await startOf(second)).toMatchObject({ resumeAfterMs: 0 });
  expect(await ended(second)).toMatchObject({ state: 'done' });
});
