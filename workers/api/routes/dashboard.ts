import { z } from 'zod';
import * as contracts from '../../../workflows/contracts/dashboard';
import type { SessionView } from '../../../workflows/contracts/dashboard';
import { batchId, handlerName, pageLimit, targetKey } from '../../../workflows/contracts/fields';
import { beginSession, endSession } from '../dashboard/cookie';
import { readHour } from '../dashboard/hour';
import { listFanouts, readBatchHalves, readHandlerPage, readOverview, readTargetPage } from '../dashboard/reads';
import type { Call, Route } from '../route';
import { route } from '../route';

const tag = 'Dashboard';

/** What the dashboard says of the installation that it shows. */
export interface Site {
  version: string;
  namespace: string;
  temporalUi: string | null;
  traceUrl: string | null;
}

const sessionOf = ({ caller }: Call<undefined, undefined, unknown>, site: Site | null): SessionView => ({
  name: caller.name,
  scopes: [...caller.scopes],
  ...caller.limits,
  handlers: caller.limits.handlers === null ? null : [...caller.limits.handlers],
  version: site?.version ?? '',
  namespace: site?.namespace ?? '',
  temporalUi: site?.temporalUi ?? null,
  traceUrl: site?.traceUrl ?? null,
});

const answer = { status: 200, schema: contracts.sessionView, description: 'Who calls, and what it may do' } as const;
const sessionRoutes = (site: Site | null): Route[] => [
  route({
    id: 'getSession',
    method: 'GET',
    path: '/dashboard/session',
    scope: 'read',
    isOwn: true,
    tag,
    summary: 'Show who calls, and what it may do',
    answer,
    problems: [],
    run: async (call) => sessionOf(call, site),
  }),
  route({
    id: 'beginSession',
    method: 'POST',
    path: '/dashboard/session',
    scope: 'read',
    isOwn: true,
    tag,
    summary: 'Begin a session of a browser with the token of this request',
    description:
      'For the dashboard: with its header `X-Muster-Page: 1` the token comes back as a cookie, ' +
      'which counts only with that header, for no page of another site, and for no more than the token.',
    answer,
    problems: [],
    headers: beginSession,
    run: async (call) => sessionOf(call, site),
  }),
  route({
    id: 'endSession',
    method: 'DELETE',
    path: '/dashboard/session',
    scope: 'read',
    isOwn: true,
    tag,
    summary: 'End the session of this browser; its token stays valid',
    answer: { status: 200, schema: z.object({ ended: z.literal(true) }), description: 'The cookie is taken back' },
    problems: [],
    headers: endSession,
    run: async () => ({ ended: true as const }),
  }),
];

const pageRoutes: Route[] = [
  route({
    id: 'getOverview',
    method: 'GET',
    path: '/dashboard/overview',
    scope: 'read',
    tag,
    summary: 'Show every handler at a glance, with nodes and queuers',
    answer: { status: 200, schema: contracts.overview, description: 'What the token may see' },
    problems: [],
    run: ({ client, caller }) => readOverview(client, caller.limits),
  }),
  route({
    id: 'getHour',
    method: 'GET',
    path: '/dashboard/hour',
    scope: 'read',
    tag,
    summary: 'Show what became of the tasks of each handler in the last hour, and how fast they are sent',
    answer: { status: 200, schema: contracts.hourPage, description: 'What the token may see' },
    isLarge: true,
    problems: [],
    run: ({ client, caller }) => readHour(client, caller.limits),
  }),
  route({
    id: 'getHandlerPage',
    method: 'GET',
    path: '/dashboard/handlers/{handler}',
    scope: 'read',
    tag,
    summary: 'Show one handler with its settings and the workflows of its leaders',
    params: z.object({ handler: handlerName }),
    answer: { status: 200, schema: contracts.handlerPage, description: 'The handler' },
    isLarge: true,
    problems: ['not-found'],
    run: ({ client, params: { handler } }) => readHandlerPage(client, handler),
  }),
  route({
    id: 'getTargetPage',
    method: 'GET',
    path: '/dashboard/handlers/{handler}/targets/{target}',
    scope: 'read',
    tag,
    summary: 'Show one target, and the batch that its waiting tasks form',
    params: z.object({ handler: handlerName, target: targetKey }),
    answer: { status: 200, schema: contracts.targetPage, description: 'The target' },
    problems: ['not-found'],
    run: ({ client, params: { handler, target } }) => readTargetPage(client, handler, target),
  }),
  route({
    id: 'getBatchHalves',
    method: 'GET',
    path: '/dashboard/batches/{batch}/halves',
    scope: 'read',
    tag,
    summary: 'Show the batches of a split: the whole one, its halves, and theirs',
    params: z.object({ batch: batchId }),
    answer: { status: 200, schema: contracts.batchHalves, description: 'At most 200 batches' },
    problems: ['not-found'],
    run: ({ client, params: { batch } }) => readBatchHalves(client, batch),
  }),
  route({
    id: 'listFanouts',
    method: 'GET',
    path: '/dashboard/fanouts',
    scope: 'read',
    tag,
    summary: 'List fan-outs, newest first',
    query: z.strictObject({ limit: pageLimit(20, 100) }),
    answer: { status: 200, schema: contracts.fanoutList, description: 'Newest' },
    problems: [],
    run: async ({ client, query, tenant }) => ({ fanouts: await listFanouts(client, query.limit, tenant ?? null) }),
  }),
];

export const dashboardRoutes = (site: Site | null): Route[] => [...sessionRoutes(site), ...pageRoutes];
