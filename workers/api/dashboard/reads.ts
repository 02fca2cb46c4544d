import type { Client } from '../../../client/client';
import { NotFoundError } from '../../../client/errors';
import { fanoutViewOf } from '../../../client/fanouts/fanout';
import { setLimitsOf } from '../../../client/limits/view';
import { findScope } from '../../../client/operations/scope';
import { readBeside } from '../../../postgres/dashboard/beside';
import { readClocks } from '../../../postgres/clockSkew';
import { endOf, holderOf, readOldestTransaction } from '../../../postgres/operations/oldestTransaction';
import { readNewestFanouts } from '../../../postgres/dashboard/fanouts';
import { readForming } from '../../../postgres/dashboard/forming';
import { readHalves } from '../../../postgres/dashboard/halves';
import type { HandlerLimitsRow } from '../../../postgres/dashboard/limits';
import { readHandlerLimits } from '../../../postgres/dashboard/limits';
import type { RetryingRow } from '../../../postgres/dashboard/retrying';
import { readRetrying } from '../../../postgres/dashboard/retrying';
import { readLeaders } from '../../../postgres/operations/status';
import type {
  BatchHalves,
  HandlerLimits,
  HandlerPage,
  Overview,
  OverviewHandler,
  TargetPage,
} from '../../../workflows/contracts/dashboard';
import type { FanoutView } from '../../../workflows/contracts/fanout';
import type { HandlerStatus } from '../../../workflows/contracts/handler';
import { leaderWorkflowId } from '../../../workflows/naming';
import { batchStateName } from '../../../workflows/planning/states';
import type { Limits } from '../tenants/bounds';
import { isAllowed, isUnlimited } from '../tenants/bounds';

/** What the pages of the dashboard show, read as the rest of the API reads it. */

const limitsOf = ({ handler: _, ...limits }: HandlerLimitsRow): HandlerLimits => limits;

const briefly = (
  { leaders, flushReasons: _, ...status }: HandlerStatus,
  limits: ReadonlyMap<string, HandlerLimitsRow>,
  retrying: ReadonlyMap<string, RetryingRow>,
): OverviewHandler[] => {
  const row = limits.get(status.handler);
  // A handler may be registered between the two looks: it is in the next.
  if (row === undefined) return [];
  const late = leaders.flatMap(({ unansweredMs }) => unansweredMs ?? []);
  return [
    {
      ...status,
      leaders: {
        n: leaders.length,
        unanswered: late.length,
        oldestUnansweredMs: late.length === 0 ? null : Math.max(...late),
      },
      limits: limitsOf(row),
      retrying: retryingOf(retrying.get(status.handler)),
    },
  ];
};

const retryingOf = (row: RetryingRow | undefined): OverviewHandler['retrying'] =>
  row === undefined ? null : { tasks: row.tasks, error: row.error };

/** Returns what waits for another attempt, by handler, with the errors decoded. */
const openedRetrying = async ({ pool, sealer }: Client): Promise<Map<string, RetryingRow>> => {
  const rows = await readRetrying(pool);
  const texts = rows.map(({ error }) => error);
  const plain = sealer === null ? texts : await sealer.openTexts(texts);
  return new Map(rows.map((row, i) => [row.handler, { ...row, error: plain[i]! }]));
};

const countNodes = async (client: Client): Promise<Overview['nodes']> => {
  const nodes = await client.nodes();
  const alive = nodes.filter((node) => node.alive);
  return {
    alive: alive.length,
    silent: nodes.filter((node) => !node.alive && !node.draining).length,
    drained: alive.filter(({ drained }) => drained).length,
    versions: [...new Set(alive.map(({ version }) => version))].sort(),
  };
};

const oldestOf = async (client: Client): Promise<NonNullable<Overview['beside']>['oldestTransaction']> => {
  const oldest = await readOldestTransaction(client.pool);
  if (oldest === null) return null;
  const { seconds, transactions } = oldest;
  return { holder: holderOf(oldest), seconds, transactions, remedy: endOf(oldest) };
};

const besideOf = async (client: Client, skewMs: number): Promise<Overview['beside']> => ({
  ...(await readBeside(client.pool)),
  clockSkewMs: Math.round(skewMs),
  oldestTransaction: await oldestOf(client),
});

/** Returns all that is to be seen at a glance by a token with these limits. */
export const readOverview = async (client: Client, limits: Limits): Promise<Overview> => {
  const { at, skewMs } = await readClocks(client.pool);
  // Handlers are shared among tenants, and not a tenant's to see.
  if (limits.tenant !== null) return { at, handlers: [], nodes: null, queuers: null, beside: null };
  const settings = new Map((await readHandlerLimits(client.pool, null)).map((row) => [row.handler, row]));
  const retrying = await openedRetrying(client);
  const all = await client.status(undefined, { exact: false });
  const mine = all.filter(({ handler }) => isAllowed(limits.handlers, handler));
  const isWhole = isUnlimited(limits);
  return {
    at,
    handlers: mine.flatMap((status) => briefly(status, settings, retrying)),
    nodes: isWhole ? await countNodes(client) : null,
    queuers: isWhole ? await client.queuer() : null,
    beside: isWhole ? await besideOf(client, skewMs) : null,
  };
};

export const readHandlerPage = async (client: Client, handler: string): Promise<HandlerPage> => {
  const { handlerId } = await findScope(client, handler);
  const [status] = await client.status(handler, { exact: false });
  const [limits] = await readHandlerLimits(client.pool, handler);
  const leaders = await readLeaders(client.pool, handlerId);
  return {
    status: status!,
    limits: limitsOf(limits!),
    workflows: Object.fromEntries(
      leaders.map(({ id, name }) => [name, leaderWorkflowId(client.prefix, handler, name, id)]),
    ),
  };
};

const rounded = (ms: number | null): number | null => (ms === null ? null : Math.round(ms));

export const readTargetPage = async (client: Client, handler: string, target: string): Promise<TargetPage> => {
  const { handlerId } = await findScope(client, handler);
  const row = await readForming(client.pool, handlerId, target);
  if (row === null)
    throw new NotFoundError(
      'target',
      target,
      'A target is known once a task has been submitted for it.',
      `handler "${handler}"`,
    );
  const { items, bytes, weight, more, maxItems, maxBytes, maxWeight, minItems, lingerMs, quietMs, perTarget } = row;
  const { pausedAt, pauseReason, key, leader, busy, delayed, inFlight, unknown, overrides } = row;
  return {
    ...{ key, leader, busy, delayed, inFlight, unknown, overrides },
    limitsSet: setLimitsOf(row.limitsSet),
    workflowId: leaderWorkflowId(client.prefix, handler, leader, row.leaderId),
    paused: pausedAt === null ? null : { since: pausedAt.toISOString(), reason: pauseReason },
    holdInMs: rounded(row.holdInMs),
    dueInMs: rounded(row.dueInMs),
    forming: { items, bytes, weight, oldestMs: rounded(row.oldestMs), newestMs: rounded(row.newestMs), more },
    limits: { maxItems, maxBytes, maxWeight, minItems, lingerMs, quietMs, perTarget },
    openBatches: row.openBatches.map(({ retryAt, ...batch }) => ({
      ...batch,
      retryAt: retryAt === null ? null : new Date(retryAt).toISOString(),
    })),
  };
};

const MOST_HALVES = 200;
/** Returns the batches of a split, of which a batch is any. */
export const readBatchHalves = async ({ pool }: Client, batch: number): Promise<BatchHalves> => {
  const rows = await readHalves(pool, batch, MOST_HALVES + 1);
  if (rows.length === 0) throw new NotFoundError('batch', String(batch), 'It does not exist, or it was deleted.');
  const batches = rows.slice(0, MOST_HALVES).map((row) => ({ ...row, state: batchStateName(row.state) }));
  return { batches, complete: rows.length <= MOST_HALVES };
};

/** Returns the newest fan-outs of a tenant, or of all. */
export const listFanouts = async (client: Client, limit: number, tenant: string | null): Promise<FanoutView[]> =>
  (await readNewestFanouts(client.pool, { limit, tenant })).map(({ open, ...row }) => fanoutViewOf(row, open));
