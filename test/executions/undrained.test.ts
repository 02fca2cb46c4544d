import { eventually } from '../helpers/eventually';
import type { Fleet } from './helpers';
import { ended, lists, openFleet, Runs } from './helpers';

/** An operator drains the only node, and ends the drain: what waited for a node begins. @slow */

const runs = new Runs();
let fleet: Fleet;
beforeAll(async () => {
  fleet = await openFleet({ echo: runs.echo });
});
afterAll(() => fleet.stop());

test('an execution that waits for a node begins when the drain of one ends', async () => {
  await fleet.node({ rollCallMs: 200 });
  const [id] = await eventually(async () => {
    const ids = await fleet.nodeIds();
    return ids.length === 1 && ids;
  });
  await fleet.client.drainNode(id!);
  const execution = await fleet.run('echo', lists(2));
  expect(execution).toMatchObject({ code: '503' });
  await eventually(async () => {
    const { rows } = await fleet.database.pool.query(
      `select from execution where wants_nodes and resume_at > clock() + interval '30 min'`,
    );
    return rows.length === 1;
  });
  // The next roll would be called in an hour, and no node sweeps.
  await fleet.client.drainNode(id!, { undo: true });
  expect(await ended(execution, 60_000)).toMatchObject({ state: 'done', counts: { done: 2 } });
});
