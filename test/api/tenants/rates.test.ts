import { NO_QUOTAS, upsertTenant } from '../../../postgres/api/tenant';
import { insertToken } from '../../../postgres/api/token';
import type { ApiProblem } from '../../../workers/api/problem';
import { Quotas } from '../../../workers/api/tenants/quotas';
import { hashToken, newToken } from '../../../workers/api/tokens';
import { eventually } from '../../helpers/eventually';
import type { ApiWorld } from '../world';
import { openWorld } from '../world';

/**
 * How much a tenant may have accepted per second.
 *
 * @slow
 */

let world: ApiWorld;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.stop());

test('what is more is refused with the time after which it fits; a large call owes the rest', async () => {
  await upsertTenant(world.database.pool, 'paced', { ...NO_QUOTAS, maxPerSecond: 10 });
  let ms = 0;
  const quotas = new Quotas(world.database.pool, () => ms);
  const admit = (n: number, of = quotas): Promise<number> => {
    const tasks = Array.from({ length: n }, () => ({ bytes: 2, target: 'a', labels: null }) as never);
    return of
      .tasks(
        'paced',
        'items',
      )(tasks)
      .then(
        () => 0,
        ({ extras }: ApiProblem) => extras.retryAfterS!,
      );
  };
  expect([await admit(6), await admit(4), await admit(1)]).toEqual([0, 0, 1]);
  expect(await admit(1, quotas.ofDryRuns())).toBe(1);
  ms += 100; // room for one
  expect([await admit(1, quotas.ofDryRuns()), await admit(1), await admit(1)]).toEqual([0, 0, 1]);
  ms += 1_000_000; // no more than one second's is ever there
  expect([await admit(10), await admit(1)]).toEqual([0, 1]);
  ms += 1_000;
  expect([await admit(50), await admit(1)]).toEqual([0, 5]); // it owes 40, and one must be there
  ms += 4_000;
  expect(await admit(1)).toBe(1);
  await quotas.insteadOf('paced', { n: 0, bytes: 0 })([{ bytes: 2, target: 'a', labels: null } as never]);
  ms += 100;
  await quotas.items('paced', 1); // those of fan-outs and executions count, too
  expect(await admit(1)).toBe(1);
});

test('a caller hears of it, nothing is written, and it goes on by itself', async () => {
  const { pool } = world.database;
  await upsertTenant(pool, 'fast', { ...NO_QUOTAS, maxPerSecond: 2 });
  const token = newToken();
  await insertToken(pool, { name: 'fast', hash: hashToken(token), scopes: ['submit', 'read'], tenant: 'fast' });
  const call = (route: string, body: unknown) => world.call(route, { token, body });
  const submit = (...ids: string[]) =>
    call('POST /v1/handlers/items/tasks', { tasks: ids.map((id) => ({ id: `fast/${id}`, payload: { to: 'a' } })) });
  expect((await submit('1', '2', '3')).status).toBe(200);
  const refused = await submit('4');
  expect(refused).toMatchObject({
    status: 429,
    body: { code: 'QUOTA', quota: 'tasks and items per second', limit: 2 },
  });
  expect(refused.headers.get('retry-after')).toBe('1');
  expect((await call('POST /v1/fanouts', {})).status).toBe(429);
  expect((await pool.query(`select from task where starts_with(id, 'fast/')`)).rowCount).toBe(3);
  await eventually(async () => (await submit('4')).status === 200);
});
