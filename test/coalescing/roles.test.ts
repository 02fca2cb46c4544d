import { createClient } from '../../client';
import { defineHandler } from '../../handlers';
import type { RolesWorld } from '../attacks/roles/world';
import { openRolesWorld } from '../attacks/roles/world';
import { expectWhole } from '../helpers/whole';
import { NO_TEMPORAL } from '../helpers/database';

/** A client with the role `muster_submit`, which may end nothing, and a worker with its own. */

interface Update {
  to: string;
}
const updates = defineHandler<Update>({
  name: 'updates',
  target: ({ to }) => to,
  coalesceBy: ({ to }) => to,
  limits: { maxItems: 50 },
  linger: { lingerMs: 700 },
  submit: async ({ tasks }) => ({ results: tasks.map(({ id }) => ({ id, status: 'ok' as const })) }),
});

let world: RolesWorld;
beforeAll(async () => {
  world = await openRolesWorld([updates], []);
});
afterAll(() => world.stop());

test('the client and SQL submit, and the worker ends what is not sent', async () => {
  const { client, pools } = world;
  await client.submit('updates', { id: 'u1', payload: { to: 'x' } });
  await pools.submit.query(`select submit('updates', 'u2', '{"to": "x"}', 'x', distinct_key => 'x')`);
  await client.submit('updates', { id: 'u3', payload: { to: 'x' } });
  const tasks = await client.waitFor(['u1', 'u2', 'u3'], { timeoutMs: 60_000 });
  expect(tasks.map(({ state, error }) => [state, error ?? null])).toEqual([
    ['cancelled', 'superseded by task u3'],
    ['cancelled', 'superseded by task u3'],
    ['succeeded', null],
  ]);
  const owner = createClient({ databaseUrl: world.database.url, handlers: [updates], temporal: NO_TEMPORAL });
  await expectWhole(owner);
  await owner.close();
});
