import type { ApiWorld } from '../../api/world';

/** Checks that every reader reads all that was stored. */
export const expectReadable = async (world: ApiWorld, token: string): Promise<void> => {
  const { rows } = await world.database.pool.query<{ id: string }>('select id from task');
  const ids = rows.map(({ id }) => id);
  expect(ids.length).toBeGreaterThan(1);
  for (let i = 0; i < ids.length; i += 1_000) {
    const some = ids.slice(i, i + 1_000);
    expect((await world.client.getTasks(some)).map(({ id }) => id)).toEqual(some);
  }
  for (const route of [
    '/v1/status',
    '/v1/lanes',
    '/v1/executions?limit=1000',
    '/v1/handlers/items/targets',
    '/v1/handlers/items/tasks?state=failed',
    '/v1/handlers/items/tasks?state=created',
    '/v1/errors',
    '/v1/outcomes',
    '/v1/callbacks',
    '/v1/bulk',
    '/v1/limits',
    '/v1/shared-limits',
    '/v1/handlers/items/batches',
    '/v1/audit',
  ])
    expect([route, (await world.call(`GET ${route}`, { token })).status]).toEqual([route, 200]);
};
