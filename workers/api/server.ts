import type { FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods } from 'fastify';
import fastify from 'fastify';
import type { Actor } from '../../client/operations/auditLog';
import { DOOR_HEADER } from '../../client/operations/auditLog';
import { PROBLEM_JSON } from '../problemType';
import type { Guard } from './auth';
import { authenticate, authorize } from './auth';
import { createDoor, readNoMore, whenClosed } from '../doors/sockets';
import { memoryOf } from './bodies/memory';
import { measureBody, parseBody } from './body';
import { COSTLY_BODY, tooCostly } from './callers/costs';
import type { Stint } from './callers/fairTime';
import { mayLogIn } from './callers/sites';
import { problemOf } from './errors';
import type { Body, HandleDeps } from './handle';
import { handle } from './handle';
import type { ApiLimits, Ticket } from './limits';
import type { ApiMetrics } from './metrics';
import { checkPreviews } from './dryRuns/dryRun';
import { ApiProblem } from './problem';
import type { Route } from './route';
import { UNLIMITED } from './tenants/bounds';
import { checkReach } from './tenants/within';
import type { Caller } from './tokens';

export interface ServerDeps extends HandleDeps {
  guard: Guard;
  limits: ApiLimits;
  metrics: ApiMetrics;
}

/** State of a request: its route (none: there is no such path), and what the hooks found. */
interface Context {
  route: Route | null;
  caller: Caller | null;
  ticket: Ticket | null;
  /** Null: it has not begun, or need not wait for its turn. */
  stint: Stint | null;
  /** When it began. */
  since: number;
}
/** Beside the request, which is Fastify's: read through `contextOf` alone, and gone with it. */
const contexts = new WeakMap<FastifyRequest, Context>();
const contextOf = (request: FastifyRequest): Context => contexts.get(request)!;
const configOf = (request: FastifyRequest): { muster?: Route; isPublic?: true } =>
  (request.routeOptions.config as object | undefined) ?? {};
const routeOf = (request: FastifyRequest): Route | null => configOf(request).muster ?? null;

/** Statuses of requests that did nothing, for a reason that is the caller's. */
const REFUSALS: ReadonlySet<number> = new Set([400, 401, 403, 405, 413, 415, 422, 429]);

/** Ids of 256 and targets of 512 bytes, percent-encoded. */
const LONGEST_PARAMETER = 6_000;
const ALL_METHODS: readonly HTTPMethods[] = [
  'GET',
  'HEAD',
  'POST',
  'PUT',
  'PATCH',
  'DELETE',
  'OPTIONS',
  'TRACE',
  'QUERY',
];

/** Creates a server with these routes, not listening yet. */
export const createServer = (routes: readonly Route[], deps: ServerDeps): FastifyInstance => {
  const app = fastify({
    bodyLimit: deps.limits.maxBodyBytes,
    serverFactory: (handler) => createDoor(handler, deps.limits.maxConnections),
    exposeHeadRoutes: false,
    forceCloseConnections: 'idle',
    return503OnClosing: false, // in our own words, by a hook
    routerOptions: { maxParamLength: LONGEST_PARAMETER },
    clientErrorHandler: () => undefined, // the server has its own
    frameworkErrors: (error, request, reply) => void answerProblem(deps, error, request, reply),
  });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request: FastifyRequest, bytes: Buffer) =>
    takeBody(deps, contextOf(request), bytes),
  );
  addHooks(app, deps);
  app.setErrorHandler((error, request, reply) => answerProblem(deps, error, request, reply));
  app.setNotFoundHandler(() => {
    throw new ApiProblem('not-found', 'No such path; see /openapi.json.');
  });
  checkReach(routes);
  checkPreviews(routes);
  for (const route of routes) addRoute(app, deps, route);
  for (const [path, methods] of methodsByPath(routes)) refuseOthers(app, path, methods);
  return app;
};

/** Parses a body once there is memory for it, which its request then holds to its end. */
const takeBody = async ({ memory, limits, costs }: ServerDeps, of: Context, bytes: Buffer): Promise<Body> => {
  const { id } = of.caller!;
  const reading = <T>(work: () => T): T => of.stint!.during(() => costs.during(id, bytes.length, work));
  const scanned = reading(() => measureBody(bytes, limits.maxBodyBytes));
  const leave = await memory.bodies.enter(memoryOf(bytes.length, scanned), id);
  of.ticket!.with(leave);
  return { bytes, value: reading(() => parseBody(bytes)) };
};

const addHooks = (app: FastifyInstance, deps: ServerDeps): void => {
  app.addHook('onRequest', async (request, reply) => {
    const route = routeOf(request);
    const context: Context = { route, caller: null, ticket: null, stint: null, since: performance.now() };
    contexts.set(request, context);
    void reply.header('cache-control', 'no-store').header('x-content-type-options', 'nosniff');
    if (route?.scope === 'open' || configOf(request).isPublic === true) return;
    if (deps.stopping.aborted) throw stopping(reply);
    try {
      await admit(deps, context, request, reply);
      if (route === null) refuseMethod(request, reply);
    } catch (error) {
      if ((bodyBytesOf(request) ?? COSTLY_BODY) >= COSTLY_BODY) readNoMore(request.raw, reply.raw);
      throw error;
    }
  });
  app.addHook('onResponse', async (request, reply) => {
    const { route, since } = contexts.get(request) ?? { route: null, since: performance.now() };
    const waits = route?.waits?.(queryOf(request)) ?? false;
    const ms = performance.now() - since;
    deps.metrics.answered(route?.id ?? 'none', reply.statusCode, waits ? null : ms);
    // The operation, never the headers: they contain a token.
    deps.log.debug({ operation: route?.id ?? 'none', status: reply.statusCode, ms: Math.round(ms) }, 'api');
  });
};

const stopping = (reply: FastifyReply): ApiProblem => {
  void reply.header('connection', 'close');
  return new ApiProblem(
    'stopping',
    'This process is stopping; nothing was done. Try again: another process may answer.',
    { retryAfterS: 1 },
  );
};

/**
 * Admits a request: its caller, whose turn it must be, then the limits of all and of that caller.
 * Nothing comes of a request whose caller is gone by then.
 */
const admit = async (
  deps: ServerDeps,
  context: Context,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> => {
  const { admission, costs, fair } = deps;
  const { route } = context;
  const asked = { waits: route?.waits?.(queryOf(request)) ?? false, bodyBytes: bodyBytesOf(request) };
  const basic = mayLogIn(request);
  const isShown = route?.isShown === true;
  const found = await admission.whileAsked(() => callerOf(deps, request, reply, { basic, isShown }));
  const isGone = (): boolean => request.raw.socket.destroyed;
  const turn = { isOver: () => isGone() || deps.stopping.aborted, waits: asked.waits };
  const entered =
    found instanceof ApiProblem
      ? fair.enter(null, turn).catch(() => Promise.reject(found))
      : isShown
        ? fair.enterAtOnce(found.id)
        : fair.enter(found.id, turn);
  // What waits here is not in progress: it takes the place of no other.
  const stint = await Promise.resolve(entered).finally(() => (context.since = performance.now()));
  if (stint !== null) whenClosed(request.raw, reply.raw, () => stint.end(REFUSALS.has(reply.raw.statusCode)));
  if (isGone()) return void reply.hijack();
  if (deps.stopping.aborted) throw stopping(reply);
  context.stint = stint;
  if (found instanceof ApiProblem) throw found;
  const ticket = admission.enter(asked);
  context.ticket = ticket;
  whenClosed(request.raw, reply.raw, () => ticket.closed());
  if (route !== null && route.scope !== 'open') authorize(found, route.scope);
  admission.share(ticket, found.id, asked);
  if (!costs.admits(found.id, asked.bodyBytes)) throw tooCostly();
  context.caller = found;
};

/** Returns the caller, or why there is none. */
const callerOf = async (
  { guard }: ServerDeps,
  request: FastifyRequest,
  reply: FastifyReply,
  page: { basic: boolean; isShown: boolean },
): Promise<Caller | ApiProblem> => {
  try {
    return await authenticate(guard, request, reply, page);
  } catch (error) {
    if (error instanceof ApiProblem) return error;
    throw error;
  }
};

const queryOf = (request: FastifyRequest): Record<string, unknown> => request.query as Record<string, unknown>;

/** Returns the announced length of the body; 0: it has none; null: it was not announced. */
const bodyBytesOf = ({ headers }: FastifyRequest): number | null => {
  if (headers['transfer-encoding'] !== undefined) return null;
  return Number(headers['content-length'] ?? 0);
};

const addRoute = (app: FastifyInstance, deps: ServerDeps, route: Route): void => {
  app.route({
    method: route.method,
    url: urlOf(route.path),
    config: { muster: route } as object,
    handler: (request, reply) => {
      const { ticket, caller, stint } = contextOf(request);
      const by = caller ?? ANONYMOUS;
      const work = (): Promise<FastifyReply> =>
        deps.client.actingAs(actorOf(by, request), () =>
          handle(deps, route, { request, reply, caller: by, ticket, stint }),
        );
      return ticket === null ? work() : ticket.during(work);
    },
  });
};
/** Names the caller for the audit. */
const actorOf = ({ id, name }: Caller, { ip, headers }: FastifyRequest): Actor => ({
  who: name === null ? 'no token' : `token ${id} (${name})`,
  door: headers[DOOR_HEADER] === 'mcp' ? 'mcp' : 'api',
  origin: ip,
});

const ANONYMOUS: Caller = { id: 0, tokenId: 0, name: null, scopes: new Set(), limits: UNLIMITED };

/** Doubles the `:` of a verb: alone it begins a parameter. */
const urlOf = (path: string): string => path.replaceAll(':', '::').replaceAll(/\{(\w+)\}/g, ':$1');

const methodsByPath = (routes: readonly Route[]): Map<string, string[]> => {
  const found = new Map<string, string[]>();
  for (const { path, method } of routes) found.set(path, [...(found.get(path) ?? []), method]);
  return found;
};

const refuseOthers = (app: FastifyInstance, path: string, methods: readonly string[]): void => {
  const allow = methods.join(', ');
  app.route({
    method: ALL_METHODS.filter((method) => !methods.includes(method)),
    url: urlOf(path),
    config: { allow } as object,
    handler: refuseMethod,
  });
};

/** Rejects the method before reading a body we would discard. */
const refuseMethod = (request: FastifyRequest, reply: FastifyReply): void => {
  const { allow } = request.routeOptions.config as { allow?: string };
  if (allow === undefined) return;
  void reply.header('allow', allow);
  throw new ApiProblem('method-not-allowed', `Expected ${allow}, got ${request.method}.`);
};

/** Maps Fastify error codes to problem details. */
const FRAMEWORK: Readonly<Record<string, (deps: ServerDeps) => ApiProblem>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: ({ limits }) =>
    new ApiProblem(
      'too-large',
      `body: expected at most ${limits.maxBodyBytes} bytes, got more. Nothing was done; send it in parts.`,
      { code: 'BODY_TOO_LARGE', errors: [{ field: 'body', message: `expected at most ${limits.maxBodyBytes} bytes` }] },
    ),
  FST_ERR_CTP_INVALID_MEDIA_TYPE: () =>
    new ApiProblem('unsupported-media-type', 'Content-Type: expected application/json.'),
  FST_ERR_MAX_PARAM_LENGTH: () => new ApiProblem('not-found', 'A part of the path is longer than any valid id.'),
};

const unlike = (message: string): ApiProblem => new ApiProblem('invalid', message, { code: 'INVALID_REQUEST' });

const answerProblem = (
  deps: ServerDeps,
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply => {
  const { code, statusCode } = error as { code?: string; statusCode?: number };
  const ofFramework = FRAMEWORK[code ?? '']?.(deps);
  const isTheirs = ofFramework === undefined && code?.startsWith('FST_') === true && (statusCode ?? 500) < 500;
  const problem = ofFramework ?? (isTheirs ? unlike((error as Error).message) : problemOf(error));
  const operation = contexts.get(request)?.route?.id ?? 'none';
  if (problem.status >= 500 && problem.problem !== 'busy' && problem.problem !== 'stopping')
    deps.log[problem.status === 500 ? 'error' : 'warn']({ err: error, operation }, 'api: no answer');
  const { retryAfterS } = problem.extras;
  if (retryAfterS !== undefined) void reply.header('retry-after', String(retryAfterS));
  return reply
    .code(problem.status)
    .header('content-type', PROBLEM_JSON)
    .send(Buffer.from(JSON.stringify(problem.body())));
};
