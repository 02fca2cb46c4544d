import { eventually } from '../../helpers/eventually';
import { expectWhole } from '../../helpers/whole';
import { BlockingNodes } from './blockingNodes';
import type { Fleet } from '../helpers';
import { ended, functionsOf, openFleet } from '../helpers';

/**
 * A registered function that blocks its process, in a node's real process: the heartbeat comes from
 * a thread that work cannot block.
 *
 * @full
 */

const LEASE_MS = 1_000;
const nodes = new BlockingNodes();
let fleet: Fleet;
let leading: () => Promise<void>;
beforeAll(async () => {
  fleet = await openFleet({}, { leaseMs: LEASE_MS });
  // Leads, and answers no roll call.
  leading = await fleet.startNode({
    executions: { leaseMs: LEASE_MS, retryBaseMs: 10, rollCallMs: 500, requeueMs: 2_000 },
  });
});
afterEach(async () => {
  await nodes.kill();
  await fleet.database.pool.query('delete from node where batch');
});
afterAll(async () => {
  await leading();
  await fleet.stop();
  nodes.clear();
});

const startChild = (timeoutMs: number) => nodes.start(fleet, { leaseMs: LEASE_MS, timeoutMs });
const itemsOf = async (id: string) => {
  const found = [];
  for await (const { state, attempts, stdout, stderr } of fleet.client.execution(id).items())
    found.push({ state, attempts, stdout, stderr });
  return found;
};

test('a function that blocks its process for 3 leases, twice in a row, keeps its chunk: one round, one run and one attempt each', async () => {
  const { child, ran } = await startChild(60_000);
  const execution = await fleet.client.execute(
    { functionId: 'block', method: 'run' },
    [[`${3 * LEASE_MS}`], [`${3 * LEASE_MS}`], ['0'], ['0']],
    { maxAttempts: 3 },
  );
  expect(await ended(execution)).toMatchObject({ state: 'done', round: 1, counts: { done: 4 }, message: null });
  expect(await execution.chunks()).toMatchObject([{ state: 'done', reason: null, items: 4 }]);
  for (const item of await itemsOf(execution.id))
    expect(item).toMatchObject({ state: 'done', attempts: 1, stdout: String(child.pid) });
  expect(ran()).toEqual(['0', '1', '2', '3']);
  await expectWhole(fleet.client);
});

test('a function that never comes back: its item has failed with its time, and the others go to another node without an attempt', async () => {
  const hanging = await startChild(1_000);
  const execution = await fleet.client.execute({ functionId: 'block', method: 'run' }, [['for-ever'], ['0'], ['0']], {
    maxAttempts: 1,
  });
  await eventually(() => hanging.ran().length === 1);
  const other = await fleet.node(functionsOf({ block: () => 'elsewhere' }));
  expect(await ended(execution)).toMatchObject({ state: 'done', counts: { done: 2, permanentlyFailed: 1 } });
  const [hung, ...rest] = await itemsOf(execution.id);
  expect(hung).toMatchObject({
    state: 'permanently-failed',
    attempts: 1,
    stderr: expect.stringContaining('no answer within 1000 ms, and the node hangs'),
  });
  expect(rest).toMatchObject([1, 2].map(() => ({ state: 'done', attempts: 1, stdout: 'elsewhere' })));
  expect(hanging.ran()).toEqual(['0']);
  const silent = `select extract(epoch from clock() - seen_at)::float8 as s from node where id like $1`;
  const age = async () =>
    (await fleet.database.pool.query<{ s: number }>(silent, [`%-${hanging.child.pid}-%`])).rows[0]!.s;
  await eventually(async () => (await age()) > 4, { what: 'the hanging node to go silent' }); // heartbeats come every 3 s
  await other();
  await expectWhole(fleet.client);
});

test('a process that is stopped gives no sign of life from any thread: its chunk is taken, and what it ran counts no attempt', async () => {
  const stopped = await startChild(60_000);
  const execution = await fleet.client.execute({ functionId: 'block', method: 'run' }, [['600'], ['0']]);
  await eventually(() => stopped.ran().length === 1);
  stopped.child.signal('SIGSTOP');
  const other = await fleet.node(functionsOf({ block: () => 'elsewhere' }));
  expect(await ended(execution)).toMatchObject({ state: 'done', counts: { done: 2 } });
  expect(await execution.chunks()).toContainEqual(expect.objectContaining({ state: 'closed', reason: 'expired' }));
  stopped.child.signal('SIGCONT');
  for (const item of await itemsOf(execution.id)) expect(item).toMatchObject({ attempts: 1, stdout: 'elsewhere' });
  await other();
  await expectWhole(fleet.client);
});
