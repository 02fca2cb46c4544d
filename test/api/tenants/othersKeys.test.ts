import { NO_QUOTAS, upsertTenant } from '../../../postgres/api/tenant';
import { insertToken } from '../../../postgres/api/token';
import { hashToken, newToken } from '../../../workers/api/tokens';
import { eventually } from '../../helpers/eventually';
import type { ApiWorld } from '../world';
import { items, openWorld } from '../world';

/** Tenants that share a handler share keys of its tasks, and targets; and no id of a task. */

let world: ApiWorld;
beforeAll(async () => {
  world = await openWorld();
  await upsertTenant(world.database.pool, 'acme', NO_QUOTAS);
});
afterAll(() => world.stop());

const made = async (limits: { tenant?: string; handlers?: string[] }): Promise<string> => {
  const token = newToken();
  await insertToken(world.database.pool, {
    name: 'acme',
    hash: hashToken(token),
    scopes: ['read', 'submit'],
    ...limits,
  });
  await eventually(async () => (await world.call('GET /v1/tasks/acme%2Fnone', { token })).status === 404);
  return token;
};

test("an explanation names no other tenant's task that has the same key", async () => {
  const { pool } = world.database;
  const [token, ofAll] = [await made({ tenant: 'acme' }), await made({})];
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

test('an explanation tells a tenant neither who set a limit nor where the code threw', async () => {
  const { pool } = world.database;
  const [token, ofAll] = [newToken(), await world.token('read')];
  await insertToken(pool, { name: 'acme too', hash: hashToken(token), scopes: ['read'], tenant: 'acme' });
  await eventually(async () => (await world.call('GET /v1/tasks/acme%2Fnone', { token })).status === 404);
  await world.client.submit('items', { id: 'acme/limited', payload: { to: 'limited' } });
  await world.client.limits.set('items', { concurrency: { perHandler: 5 } }, {});
  await world.client.limits.set('items', { concurrency: { perTarget: 5 } }, { target: 'limited' });
  const [seq] = (
    await pool.query<{ seq: number; target: number }>(
      `select seq, target_id as target from task where id = 'acme/limited'`,
    )
  ).rows as [{ seq: number; target: number }];
  await pool.query('delete from queue where seq = $1', [seq.seq]);
  await pool.query(
    `with f as (
       insert into fault (handler_id, stack, at)
       select handler_id, 'at secret (/srv/code.js:1:1)', clock() from target where id = $1 returning id),
     b as (
       insert into batch (target_id, leader_id, epoch, turn, reason, members, n, bytes, weight, created_at, error,
         fault_id, fault_attempt)
       select t.id, leader_id, 1, 1, 3, array[$2::bigint], 1, 1, 1, clock(), 'no', f.id, 0
       from target t, f where t.id = $1 returning id)
     insert into member (seq, batch_id, attempts) select $2, id, 0 from b`,
    [seq.target, seq.seq],
  );
  const explain = async (by: string) => (await world.call('GET /v1/tasks/acme%2Flimited/explain', { token: by })).text;
  expect(await explain(ofAll)).toMatch(/"by":"[^"]+@/);
  expect(await explain(ofAll)).toMatch(/code\.js/);
  expect(await explain(token)).toContain('an operator');
  expect(await explain(token)).not.toMatch(/@|code\.js/);
});

test("a tenant's batch in a lane does not tell it where the handler's code threw", async () => {
  const { pool } = world.database;
  const [token, ofAll] = [newToken(), await world.token('read', 'submit', 'operate')];
  const scopes = ['read', 'submit'] as const;
  await insertToken(pool, { name: 'acme batch', hash: hashToken(token), scopes, tenant: 'acme' });
  await eventually(async () => (await world.call('GET /v1/tasks/acme%2Fnone', { token })).status === 404);
  const { batch } = await world.client.batches.submit('lane', 'acme/thrown', items('acme/thrown', 'acme/b'));
  await pool.query(
    `with f as (
       insert into fault (handler_id, stack, at)
       select id, 'at secret (/srv/code.js:1:1)', clock() from handler where name = 'lane' returning id)
     update batch set error = 'no', fault_attempt = attempt, fault_id = (select id from f) where id = $1`,
    [batch],
  );
  const seenBy = async (by: string) => {
    const dry = { token: by, body: {}, headers: { 'dry-run': 'true' } };
    const read = await world.call(`GET /v1/batches/${batch}`, { token: by });
    return [read, await world.call(`POST /v1/batches/${batch}/cancel`, dry)].map(({ status, text }) => {
      expect([status, text]).toEqual([200, expect.stringContaining('"error":"no"')]);
      return text.includes('code.js');
    });
  };
  expect(await seenBy(ofAll)).toEqual([true, true]);
  expect(await seenBy(token)).toEqual([false, false]);
});

test('a conflict of ids names no handler that the token may not see', async () => {
  const token = await made({ tenant: 'acme', handlers: ['narrow'] });
  const task = { id: 'acme/taken', payload: { to: 'se' } };
  await world.client.submit('items', task);
  for (const partial of [false, true]) {
    const body = { tasks: [task], partial };
    const { text } = await world.call('POST /v1/handlers/narrow/tasks', { token, body });
    expect(text).toContain('ID_CONFLICT');
    expect(text).toContain('a task of another handler has this id');
    expect(text).not.toContain('items');
  }
});

test('no task of a tenant goes before those that others have for its target', async () => {
  const token = await made({ tenant: 'acme' });
  const first = 'POST /v1/handlers/narrow/tasks';
  const tasks = (...priorities: number[]) =>
    priorities.map((priority) => ({ id: `acme/at ${priority}`, payload: { to: 'se' }, priority }));
  for (const headers of [{ 'dry-run': 'false' }, { 'dry-run': 'true' }])
    for (const body of [{ tasks: tasks(0, -1) }, { tasks: tasks(-32_768), partial: true }]) {
      const { status, body: problem } = await world.call(first, { token, body, headers });
      expect([status, problem.code]).toEqual([422, 'INVALID_PRIORITY']);
    }
  expect((await world.call(first, { token, body: { tasks: tasks(0, 7) } })).body).toMatchObject({ accepted: 2 });
  const ofNone = { tasks: [{ ...tasks(-1)[0]!, id: 'first' }] };
  expect((await world.call(first, { token: await made({}), body: ofNone })).status).toBe(200);
});
