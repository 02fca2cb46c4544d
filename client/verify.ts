import { verifyStore } from '../postgres/verify';
import type { ClientContext } from './context';
import type { Verification } from './views';

/**
 * Every invariant of the store, each as one statement that answers the rows that break it (at most 20), all of one instant. What a
 * running system passes through (a commit whose ring is on its way) is looked at twice before it counts. Reads the whole store.
 */
export const verify = async (client: ClientContext): Promise<Verification> => {
  await client.ready();
  const checks = await verifyStore(client.pool);
  return { ok: checks.every(({ violations }) => violations.length === 0), checks };
};
