import { z } from 'zod';
import { verification } from '../../../workflows/contracts/handler';
import { auditView } from '../../../workflows/contracts/audit';
import { count, pageLimit, plainName } from '../../../workflows/contracts/fields';
import { readWakes } from '../../../postgres/sweeper/unanswered';
import { UNANSWERED_MS } from '../../../workflows/planning/liveness';
import { answers } from '../../metrics/health';
import type { ApiMetrics } from '../metrics';
import { ApiProblem } from '../problem';
import type { Route } from '../route';
import { route } from '../route';

const tag = 'System';
/** How long a question for readiness waits for others. */
const READY_MS = 20;

const verify = route({
  id: 'verify',
  method: 'GET',
  path: '/v1/verify',
  scope: 'admin',
  tag,
  summary: 'Check every invariant of the store',
  query: z.strictObject({
    full: z.boolean().default(false).describe('Read the whole store, rather than a part of large tables'),
  }),
  answer: { status: 200, schema: verification, description: 'Every invariant, and the rows that violate it' },
  problems: [],
  run: ({ client, query }) => client.verify(query),
});

const audit = route({
  id: 'listAudit',
  method: 'GET',
  path: '/v1/audit',
  scope: 'admin',
  tag,
  summary: 'List who changed what, when and from where, newest first',
  query: z.strictObject({
    limit: pageLimit(100),
    before: count.optional().describe('Only entries before the one with this number'),
    who: plainName(600).optional().describe('Only changes by this caller'),
    subject: plainName(4_000).optional().describe('Only changes of this, such as `handler orders`'),
  }),
  answer: { status: 200, schema: z.object({ entries: z.array(auditView) }), description: 'Newest' },
  problems: [],
  isLarge: true,
  run: async ({ client, query }) => {
    const given = Object.entries(query).filter(([, value]) => value !== undefined);
    return { entries: await client.audit.list(Object.fromEntries(given)) };
  },
});

const live = route({
  id: 'live',
  method: 'GET',
  path: '/health/live',
  scope: 'open',
  tag,
  summary: 'Check that this process answers',
  answer: { status: 200, schema: z.object({ status: z.literal('live') }), description: 'It answers' },
  problems: [],
  run: async () => ({ status: 'live' as const }),
});

const ready = (stopping: AbortSignal): Route =>
  route({
    id: 'ready',
    method: 'GET',
    path: '/health/ready',
    scope: 'open',
    tag,
    summary: 'Check readiness: the database answers, and this process is not stopping',
    answer: {
      status: 200,
      schema: z.object({
        status: z.literal('ready'),
        unanswered: count.describe(
          'Leaders and queuers that were woken more than 30 s ago and have taken no turn since: requests are still accepted, but their work has stalled',
        ),
      }),
      description: 'Ready',
    },
    problems: ['unavailable', 'stopping'],
    run: async ({ client, together }) => {
      if (stopping.aborted) throw new ApiProblem('stopping', 'This process is stopping.', { retryAfterS: 1 });
      // It is open to all, so many may ask at once; the database is asked once.
      return together(async () => {
        if (!(await answers(client.pool)))
          throw new ApiProblem('unavailable', 'The database does not answer.', { retryAfterS: 1 });
        const unanswered = (await readWakes(client.pool, UNANSWERED_MS)).reduce((sum, { late }) => sum + late, 0);
        return { status: 'ready' as const, unanswered };
      })(READY_MS);
    },
  });

const metricsRoute = (metrics: () => ApiMetrics): Route => ({
  ...route({
    id: 'metrics',
    method: 'GET',
    path: '/metrics',
    scope: 'metrics',
    tag,
    summary: 'Metrics of the store and of this process, for Prometheus',
    answer: { status: 200, schema: z.string(), description: 'Metrics' },
    problems: [],
    run: () => metrics().text(),
  }),
  stream: 'text/plain; version=0.0.4; charset=utf-8',
});

const openapi = (document: () => object): Route => {
  let text: string | null = null; // making it takes as long as ten submits
  return {
    id: 'openapi',
    method: 'GET',
    path: '/openapi.json',
    scope: 'read',
    isShown: true,
    tag,
    summary: 'This document (OpenAPI 3.1)',
    answer: { status: 200, schema: z.looseObject({}), description: 'The document' },
    problems: [],
    stream: 'application/json; charset=utf-8',
    run: async () => (text ??= JSON.stringify(document())),
  };
};

export interface SystemParts {
  stopping: AbortSignal;
  metrics: () => ApiMetrics;
  document: () => object;
}
export const systemRoutes = ({ stopping, metrics, document }: SystemParts): Route[] => [
  verify,
  audit,
  live,
  ready(stopping),
  metricsRoute(metrics),
  openapi(document),
];
