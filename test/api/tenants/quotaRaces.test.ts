import type { TenantLimits } from '../../../postgres/api/tenant';
import { upsertTenant } from '../../../postgres/api/tenant';
import { insertToken } from '../../../postgres/api/token';
import { inTransaction } from '../../../postgres/pool';
import { hashToken, newToken } from '../../../workers/api/tokens';
import { eventually } from '../../helpers/eventually';
import type { ApiWorld } from '../world';
import { openWorld } from '../world';

/** Requests that are tried again, and counts amid requests: each request counts once, all the time. */

let world: ApiWorld;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.stop());

const NO_LIMITS = { maxQueued: null, maxBytes: null, maxTargets: null, maxExecutions: null, maxItems: null };
/** Answers the status of a submit of these ids. */
type Submit = (ids: readonly string[], headers?: Record<string, string>) => Promise<number>;
const tenant = async (name: string, limits: Partial<TenantLimits>): Promise<Submit> => {
  await upsertTenant(world.database.pool, name, { ...NO_LIMITS, ...limits });
  const token = newToken();
  await insertToken(world.database.pool, { name, hash: hashToken(token), scopes: ['submit', 'read'], tenant: name });
  await eventually(async () => (await world.call(`GET /v1/tasks/${name}%2Fnone`, { token })).status === 404);
  return async (ids, headers = {}) => {
    const tasks = ids.map((id) => ({ id: `${name}/${id}`, payload: { to: 'a' } }));
    return (await world.call('POST /v1/handlers/items/tasks', { token, headers, body: { tasks } })).status;
  };
};

test('a submit whose transaction is tried again counts once', async () => {
  const submit = await tenant('again', { maxQueued: 3, maxBytes: 30 });
  const { pool } = world.database;
  await pool.query(`
create sequence tries;
create function fail_once() returns trigger language plpgsql as $$
begin
  if nextval('tries') = 1 then raise exception 'in the way' using errcode = '40001'; end if;
  return null;
end $$;
create trigger fail_once after insert on task for each statement execute function fail_once()`);
  try {
    expect(await submit(['1', '2'], { 'idempotency-key': 'k' })).toBe(200);
  } finally {
    await pool.query('drop trigger fail_once on task');
  }
  expect((await pool.query<{ n: number }>('select last_value::int as n from tries')).rows).not.toEqual([{ n: 1 }]);
  expect(await submit(['3'])).toBe(200);
  expect(await submit(['4'])).toBe(429);
});

test('a count amid a submit that is not stored yet does not forget it', async () => {
  const submit = await tenant('amid', { maxQueued: 3 });
  const dry = (id: string): Promise<number> => submit([id], { 'dry-run': 'true' });
  const { pool } = world.database;
  const stored = await inTransaction(pool, async (tx) => {
    await tx.query('lock table task in exclusive mode'); // it can be read
    const storing = submit(['1', '2', '3']);
    const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
    await eventually(async () => (await pool.query(waiting)).rowCount! > 0);
    const since = Date.now();
    await eventually(async () => {
      expect(await dry('4')).toBe(429);
      return Date.now() - since > 2_500; // counted anew in the meantime
    });
    return { storing };
  });
  expect(await stored.storing).toBe(200);
  expect(await dry('4')).toBe(429);
  await pool.query(`delete from queue where seq in (select seq from task where id like 'amid/%')`);
  await eventually(async () => (await dry('4')) === 200);
});
