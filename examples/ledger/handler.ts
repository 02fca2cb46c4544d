import { z } from 'zod';
import { defineHandler, LaterError } from '../../handlers';
import type { Handler, ItemResult, LaneRules, ReferenceStatus } from '../../handlers';
import { editSchema, readsOf, writesOf } from './edits';

/**
 * What is submitted: an edit of a service (a purchase order). The ledger knows it by the task's id.
 */
export const orderEditSchema = z.strictObject({ service: z.string().min(1), edit: editSchema });
export type OrderEdit = z.infer<typeof orderEditSchema>;

export const APPROACHES: readonly LaneRules['approach'][] = ['unconstrained', 'serial', 'parallel'];

export interface LedgerOptions {
  url: string;
  approach: LaneRules['approach'];
  pollMs?: number;
}

interface Answer {
  status?: string;
  reference?: string;
  results?: ItemResult[];
  outcome?: 'done' | 'accepted' | 'absent';
}

/**
 * Price edits in the order in which they were submitted, a lane a service; the ledger accepts,
 * applies later, and may forget.
 */
export const ledgerHandler = ({ url, approach, pollMs = 50 }: LedgerOptions): Handler => {
  const statusesOf = async (references: readonly string[], signal: AbortSignal) => {
    const { body } = await call(`${url}/status`, signal, { references });
    return (body as { statuses: Record<string, { status: string; receipts?: ItemResult[] }> }).statuses;
  };
  return defineHandler<OrderEdit>({
    name: 'ledger',
    schema: orderEditSchema,
    target: ({ service }) => service,
    service: (target) => target,
    reads: ({ edit }) => readsOf(edit),
    writes: ({ edit }) => writesOf(edit),
    lane: { approach, pendingLimit: 30 },
    limits: { maxItems: 100 },
    linger: { lingerMs: 50 },
    timeoutMs: 2_000, // until then, no other worker may take up a call whose worker died
    idempotency: { by: 'batch' },
    bisect: false, // a batch is applied as a whole
    poll: { everyMs: pollMs, deadlineMs: 60_000 },
    submit: async ({ target, tasks }, { signal, idempotencyKey }) => {
      const items = tasks.map(({ payload }) => payload.edit);
      const { status, body, retryAfterMs } = await call(
        `${url}/services/${encodeURIComponent(target)}/batches`,
        signal,
        { items },
        idempotencyKey,
      );
      if (status === 429) throw new LaterError('the ledger has too many pending', { retryAfterMs });
      const { reference, results } = body as Answer;
      return status === 202 ? { status: 'accepted', reference: reference! } : { results: results! };
    },
    status: async (references, { signal }) => {
      const statuses = await statusesOf(references, signal);
      return references.map((reference) => ({ reference, status: STATUSES[statuses[reference]?.status ?? 'lost']! }));
    },
    results: async (reference, { signal }) => {
      const { receipts } = (await statusesOf([reference], signal))[reference]!;
      return receipts!;
    },
    reconcile: async (_, { signal, idempotencyKey }) => {
      const { body } = await call(`${url}/batches/${encodeURIComponent(idempotencyKey)}`, signal);
      const { outcome, reference, results } = body as Answer;
      if (outcome === 'done') return { status: 'done', results: results! };
      return outcome === 'accepted' ? { status: 'accepted', reference: reference! } : { status: 'absent' };
    },
  });
};

const STATUSES: Readonly<Record<string, ReferenceStatus['status']>> = {
  pending: 'pending',
  valid: 'pending', // checked, not applied yet
  committed: 'done',
  invalid: 'done', // its receipts say why
  lost: 'lost',
};

/**
 * A refused connection was never a call: later. Anything that breaks off once it was sent is an
 * unknown outcome, and thrown.
 */
const call = async (
  url: string,
  signal: AbortSignal,
  body?: object,
  key?: string,
): Promise<{ status: number; body: unknown; retryAfterMs: number }> => {
  const headers = { 'content-type': 'application/json', ...(key === undefined ? {} : { 'idempotency-key': key }) };
  const request = body === undefined ? {} : { method: 'POST', headers, body: JSON.stringify(body) };
  let response: Response;
  try {
    response = await fetch(url, { ...request, signal });
  } catch (error) {
    const { code } = ((error as Error).cause ?? {}) as { code?: string };
    if (code === 'ECONNREFUSED') throw new LaterError('the ledger is not there');
    throw error;
  }
  const answer: unknown = await response.json();
  if (!response.ok && response.status !== 429) throw new Error(`ledger: ${response.status} ${JSON.stringify(answer)}`);
  return {
    status: response.status,
    body: answer,
    retryAfterMs: 1_000 * Number(response.headers.get('retry-after') ?? 0),
  };
};
