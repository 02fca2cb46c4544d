import type { IncomingHttpHeaders } from 'node:http';
import { dryRun } from '../../../workflows/contracts/dryRun';
import { ApiProblem } from '../problem';
import type { Route } from '../route';
import { PREVIEWS } from './previews';

/** The header that asks for a dry run. */
const DRY_RUN = 'dry-run';
const DRY_RUN_JSON = 'application/vnd.muster.dry-run+json';

/** Routes that change nothing though they have a body: they run as they are. */
const READS: ReadonlySet<string> = new Set(['lookUpTasks', 'readItems', 'dryRunBulk']);

/** Says whether a call of this route changes anything. */
export const isChange = ({ method, id }: Pick<Route, 'method' | 'id'>): boolean => method !== 'GET' && !READS.has(id);

/**
 * Says whether a request asks for a dry run.
 *
 * @throws ApiProblem for any value but true and false.
 */
export const asksDryRun = (headers: IncomingHttpHeaders): boolean => {
  const { [DRY_RUN]: value } = headers;
  if (value === undefined || value === 'false') return false;
  if (value === 'true') return true;
  const message = 'expected true or false';
  throw new ApiProblem('invalid', `Dry-Run: ${message}, got another value. Nothing was done.`, {
    code: 'INVALID_REQUEST',
    errors: [{ field: 'Dry-Run', message }],
  });
};

/**
 * Returns the route as a dry run calls it: the request is checked in every way, and nothing is
 * done. It answers what the change would act on.
 */
export const dryRunOf = (route: Route): Route => {
  if (!isChange(route)) return route;
  const { keyed: _keyed, headers: _headers, ...checked } = route;
  return {
    ...checked,
    answer: { status: 200, schema: dryRun, description: 'Nothing was done', type: DRY_RUN_JSON },
    run: async (call) => ({
      dryRun: true,
      operation: route.id,
      would: route.summary,
      now: await PREVIEWS[route.id]!(call),
    }),
  };
};

/** Throws for a route that changes something, and has no dry run. */
export const checkPreviews = (routes: readonly Route[]): void => {
  const missing = routes.filter((one) => isChange(one) && !Object.hasOwn(PREVIEWS, one.id)).map(({ id }) => id);
  if (missing.length > 0) throw new Error(`routes without an entry in PREVIEWS: ${missing.join(', ')}`);
};
