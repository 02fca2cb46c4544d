import type { Finding } from './checker';
import { drain } from './checker';
import type { World } from './world';

/**
 * Resolves unknown outcomes, as an operator does, until there are none: what waited behind their
 * keys must then come to an end.
 */
export const resolveParked = async (world: World): Promise<Finding[]> => {
  for (;;) {
    const { rows } = await world.pool.query<{ id: string }>('select id from task_state where state = 3 order by seq');
    if (rows.length === 0) return [];
    const tasks = rows.map(({ id }) => id);
    await world.during(() => world.client.resolve({ tasks }, { as: 'succeeded' }));
    const findings = await drain(world, 1_000);
    if (findings.length > 0) return findings;
  }
};
