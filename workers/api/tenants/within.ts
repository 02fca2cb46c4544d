import type { Pool } from '../../../postgres/pool';
import type { Call, Route } from '../route';
import type { Limits } from './bounds';
import { Bounds, isUnlimited } from './bounds';
import type { Quotas } from './quotas';
import { REACH } from './reach';

/** Returns the route as a token with these limits may call it: everything of others is a 404. */
export const within = (route: Route, limits: Limits, deps: { pool: Pool; quotas: Quotas }): Route => {
  if (isUnlimited(limits)) return route;
  const check = REACH[route.id]!;
  const checks = { bounds: new Bounds(limits, deps.pool), quotas: deps.quotas };
  const checked = async (call: Call): Promise<Call> => (await check(checks, call)) ?? call;
  const { until } = route;
  return {
    ...route,
    // A wait is checked before it begins, and what it ends in again.
    ...(until === undefined ? {} : { until: async (call: Call) => until(await checked(call)) }),
    run: async (call: Call) => route.run(await checked(call)),
  };
};

/** Throws for a route that no limit was decided for. */
export const checkReach = (routes: readonly Route[]): void => {
  const missing = routes.filter(({ id }) => !Object.hasOwn(REACH, id)).map(({ id }) => id);
  if (missing.length > 0) throw new Error(`routes without an entry in REACH: ${missing.join(', ')}`);
};
