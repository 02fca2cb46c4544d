import { eventually } from '../../helpers/eventually';
import { BlockingNodes } from './blockingNodes';
import type { Fleet } from '../helpers';
import { ended, functionsOf, lists, openFleet } from '../helpers';

/**
 * A node whose main thread hangs while its heartbeat thread lives: it answers no roll call.
 *
 * @slow
 */

const nodes = new BlockingNodes();
let fleet: Fleet;
let leading: () => Promise<void>;
beforeAll(async () => {
  fleet = await openFleet({});
  // Leads, and answers no roll call.
  leading = await fleet.startNode({ executions: { rollCallMs: 200 } });
});
afterAll(async () => {
  await nodes.kill();
  await leading();
  await fleet.stop();
  nodes.clear();
});

afterEach(async () => {
  await nodes.kill();
  await fleet.database.pool.query('delete from node where batch');
});

test('an execution that waits for a node whose main thread hangs begins when that thread runs again [E3]', async () => {
  const { ran } = await nodes.start(fleet, { leaseMs: 3_000, timeoutMs: 300_000 });
  await fleet.run('block', [['12000']]);
  await eventually(() => ran().length === 1);
  await eventually(async () => (await fleet.client.nodes()).some(({ hangsMs }) => hangsMs >= 5_000));
  // The hanging process may have taken a workflow task, too: that roll is called later.
  const waiting = await Promise.all(Array.from({ length: 6 }, () => fleet.run('block', [['0']])));
  expect(waiting[0]).toMatchObject({ code: '503' });
  await eventually(
    async () => (await fleet.database.pool.query('select from execution where wants_nodes')).rowCount! > 0,
  );
  expect((await fleet.client.nodes()).some(({ hangsMs }) => hangsMs >= 5_000)).toBe(true);
  // The next roll would be called in an hour.
  for (const one of waiting) expect(await ended(one, 60_000)).toMatchObject({ state: 'done' });
});

test('a node whose main thread hangs answers no roll call, though its heartbeat thread lives [E3]', async () => {
  const { ran } = await nodes.start(fleet, { leaseMs: 3_000, timeoutMs: 300_000 });
  const blocking = await fleet.run('block', [['for-ever']]);
  await eventually(() => ran().length === 1);
  const [hanging] = await fleet.nodeIds();
  const row = async () => (await fleet.client.nodes()).find(({ id }) => id === hanging)!;
  await eventually(async () => (await row()).hangsMs >= 5_000, { what: 'the row to say that it hangs' });
  expect(await row()).toMatchObject({ alive: true, draining: false });
  const unasked = await fleet.run('block', [['0']]);
  expect(unasked).toMatchObject({
    code: '503',
    message: expect.stringContaining('the main thread of the one such node gives no sign of life'),
  });
  await unasked.cancel();

  const stop = await fleet.node(functionsOf({ block: () => 'elsewhere' }));
  const other = await eventually(async () => {
    const others = (await fleet.nodeIds()).filter((id) => id !== hanging);
    return others.length === 1 && others;
  });
  const execution = await fleet.run('block', lists(4));
  expect(await ended(execution, 60_000)).toMatchObject({ state: 'done', round: 1, counts: { done: 4 } });
  expect(await execution.chunks()).toMatchObject([{ node: other[0], state: 'done', items: 4 }]);
  expect((await row()).hangsMs).toBeGreaterThan(5_000);
  await blocking.cancel();
  await stop();
});
