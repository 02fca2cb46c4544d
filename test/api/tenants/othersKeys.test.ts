import { insertToken } from '../../../postgres/api/token';
import { hashToken, newToken } from '../../../workers/api/tokens';
import { eventually } from '../../helpers/eventually';
import type { ApiWorld } from '../world';
import { openWorld } from '../world';

/** Tenants that share a handler share the keys of its tasks, and no id of a task. */

let world: ApiWorld;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.stop());

test("an explanation names no other tenant's task that has the same key", async () => {
  const { pool } = world.database;
  const [token, ofAll] = [newToken(), await world.token('read')];
  await insertToken(pool, { name: 'acme', hash: hashToken(token), scopes: ['read'], tenant: 'acme' });
  await eventually(async () => (await world.call('GET /v1/tasks/acme%2Fnone', { token })).status === 404);
  const ids = ['rival/first', 'acme/second', 'acme/third'];
  await world.client.submit(
    'items',
    ids.map((id) => ({ id, payload: { to: 'se' } })),
  );
  await pool.query(`update handler set keyed = true where name = 'items'`);
  await pool.query(`update task set key = 'k'`);
  await pool.query(`update queue set key = 'k'`);
  const explain = (by: string) => world.call('GET /v1/tasks/acme%2Fsecond/explain', { token: by });
  const { status, text } = await explain(token);
  expect(status).toBe(200);
  expect(text).toContain('Task \\"(of another tenant)\\" has the same distinctBy key');
  expect(text).not.toContain('rival');
  expect((await explain(ofAll)).body.facts.queued.keyHolder).toBe('rival/first');
  await pool.query(`delete from queue where seq = (select seq from task where id = 'rival/first')`);
  const own = await world.call('GET /v1/tasks/acme%2Fthird/explain', { token });
  expect(own.body.facts.queued.keyHolder).toBe('acme/second');
});
