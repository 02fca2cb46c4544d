import type { Execution } from '../../client';
import { executionWorkflowId } from '../../workflows/naming';
import { eventually } from '../helpers/eventually';
import { exorciseGhosts, summonGhosts } from './ghosts';
import type { Run } from './functions';
import type { Fleet } from './helpers';
import { ended, lists, openFleet, Runs } from './helpers';

/**
 * The run of an execution is gone while its chunks are out: an operator ended it, or Temporal's
 * store was made anew. Found by `npm run chaos`: it stood for ten minutes, and nothing said so.
 *
 * @slow
 */

const runs = new Runs();
let hold: Promise<void> | null = null;
let failing = false;
let fleet: Fleet;
beforeAll(async () => {
  const echo: Run = async (args, call) => {
    await hold;
    if (failing) throw new Error('not yet');
    return runs.echo(args, call);
  };
  fleet = await openFleet({ echo }, { startupDelayMs: 0 });
});
afterAll(() => fleet.stop());

const terminate = async ({ id }: Execution): Promise<void> => {
  const { workflow } = await fleet.client.temporal();
  await workflow.getHandle(executionWorkflowId(fleet.prefix, id)).terminate('by the test');
};
const read = async <T>(text: string, { id }: Execution): Promise<T | undefined> =>
  (await fleet.database.pool.query(text, [id])).rows[0] as T | undefined;

test('a chunk whose lease passes without a run is closed, and its items go on', async () => {
  await summonGhosts(fleet, 'ghost-1');
  const stop = await fleet.node({ serves: false }, { sweepEveryMs: 100 });
  const execution = await fleet.run('echo', lists(3));
  await eventually(() => read('select from chunk where execution_id = $1 and state = 0 /* ready */', execution));
  await fleet.database.pool.query(
    `update chunk set state = 1 /* taken */, started_at = clock(), expires_at = clock() where execution_id = $1`,
    [execution.id],
  );
  await terminate(execution);
  await exorciseGhosts(fleet);
  await fleet.node({}, { sweepEveryMs: 100 });
  expect(await ended(execution)).toMatchObject({ state: 'done' });
  await stop();
});

test('what no node has taken is looked at within a minute, what one has later', async () => {
  await fleet.node();
  await summonGhosts(fleet, 'ghost-2');
  let release!: () => void;
  hold = new Promise((resolve) => (release = resolve));
  const execution = await fleet.run('echo', lists(2));
  await eventually(() => read('select from chunk where execution_id = $1 and state = 1 /* taken */', execution));
  const due = await eventually(() =>
    read<{ ms: number }>(
      `select (extract(epoch from resume_at - clock()) * 1000)::float8 as ms from execution where id = $1 and turn > 0 and resume_at is not null`,
      execution,
    ),
  );
  expect(due.ms).toBeLessThanOrEqual(60_000);
  await exorciseGhosts(fleet);
  release();
  hold = null;
  expect(await ended(execution, 60_000)).toMatchObject({ state: 'done' });
});

test('items that failed without a run are tried again within seconds', async () => {
  await fleet.node({}, { sweepEveryMs: 100 });
  let release!: () => void;
  hold = new Promise((resolve) => (release = resolve));
  const execution = await fleet.run('echo', lists(2));
  await eventually(() => read('select from chunk where execution_id = $1 and state = 1 /* taken */', execution));
  // The node goes on, and records what comes of it.
  await terminate(execution);
  failing = true;
  release();
  hold = null;
  await eventually(() => read('select from execution where id = $1 and n_running = 0 and n_failed > 0', execution));
  failing = false;
  expect(await ended(execution)).toMatchObject({ state: 'done' });
});
