import { z } from 'zod';
import { NotFoundError } from '../../../client/errors';
import { MAX_BATCHES } from '../../../client/lanes/submitBatch';
import { batchWithin } from '../../../client/operations/tenants/shownWithin';
import * as contracts from '../../../workflows/contracts/batch';
import { laneBatchView } from '../../../workflows/contracts/lane';
import {
  afterPage,
  batchId,
  count,
  errorPart,
  handlerName,
  pageLimit,
  targetKey,
} from '../../../workflows/contracts/fields';
import { route } from '../route';
import { callbacksOf, refuseWorkflows } from './operator';

const tag = 'Batches';
const params = z.object({ batch: batchId });

const submit = route({
  id: 'submitBatches',
  method: 'POST',
  path: '/v1/handlers/{handler}/batches',
  scope: 'submit',
  tag,
  summary: 'Submit batches to lanes: each is sent unchanged, after everything submitted earlier to its service',
  description: 'All batches are accepted in this order in one transaction, or none is.',
  params: z.object({ handler: handlerName }),
  body: z.strictObject({ batches: z.array(contracts.batchInput).min(1).max(MAX_BATCHES) }),
  answer: { status: 200, schema: z.object({ batches: z.array(contracts.submittedBatch) }), description: 'Accepted' },
  problems: ['not-found', 'id-conflict', 'conflict', 'refused', 'backlogged', 'quota'],
  keyed: 'tx',
  isHeavy: () => true,
  run: async ({ client, params: { handler }, body, tx, admit, admitLanes, afterCommit, operator, traceparent }) => {
    for (const [index, { items }] of body.batches.entries())
      refuseWorkflows(operator, callbacksOf(items, `batches[${index}].items`));
    const batches = await client.submitBatches(handler, body.batches, {
      ...(admit === undefined ? {} : { admit }),
      ...(admitLanes === undefined ? {} : { admitLanes }),
      ...(tx === undefined ? {} : { tx }),
      ...(traceparent === undefined ? {} : { traceparent }),
    });
    if (tx !== undefined) afterCommit(() => client.ringLanes([...new Set(batches.map(({ service }) => service))]));
    return { batches };
  },
  hasEffect: ({ batches }) => batches.some(({ accepted }) => accepted),
});

const list = route({
  id: 'listBatches',
  method: 'GET',
  path: '/v1/handlers/{handler}/batches',
  scope: 'read',
  tag,
  summary: 'List the batches of a handler, in any state or in one',
  description:
    'The newest come first; those that are open or unknown, of the whole handler, by target. ' +
    'A page looks at a bounded number of rows: it may be short, even empty, and still have a `next`.',
  params: z.object({ handler: handlerName }),
  query: z.strictObject({
    state: contracts.batchState.optional(),
    target: targetKey.optional(),
    error: errorPart.describe('Only batches whose error contains this text'),
    limit: pageLimit(100),
    after: afterPage,
  }),
  answer: { status: 200, schema: contracts.batchPage, description: 'A page' },
  problems: ['not-found'],
  isLarge: true,
  run: ({ client, params: { handler }, query }) => client.batches.list(handler, query),
});

const get = route({
  id: 'getBatch',
  method: 'GET',
  path: '/v1/batches/{batch}',
  scope: 'read',
  tag,
  summary: 'Show a batch with its first tasks',
  params,
  query: z.strictObject({ members: z.number().int().min(0).max(10_000).default(100) }),
  answer: { status: 200, schema: contracts.batchView, description: 'The batch' },
  problems: ['not-found'],
  isLarge: true,
  run: async ({ client, params: { batch }, query, prefix = '' }) =>
    batchWithin(found(await client.batch(batch, query), 'batch', batch), prefix),
});

const status = route({
  id: 'getLaneBatch',
  method: 'GET',
  path: '/v1/batches/{batch}/lane',
  scope: 'read',
  tag,
  summary: "Show a batch's place in its lane, and what it is waiting for",
  params,
  answer: { status: 200, schema: laneBatchView, description: 'The place of the batch' },
  problems: ['not-found'],
  isLarge: true,
  run: async ({ client, params: { batch } }) => found(await client.batchStatus(batch), 'lane batch', batch),
});

const receipts = route({
  id: 'getReceipts',
  method: 'GET',
  path: '/v1/batches/{batch}/receipts',
  scope: 'read',
  tag,
  summary: "List the downstream's verdict on each item of a batch",
  params,
  answer: {
    status: 200,
    schema: z.object({ receipts: z.array(contracts.receipt) }),
    description: 'The verdicts, in member order',
  },
  problems: ['not-found'],
  isLarge: true,
  run: async ({ client, params: { batch } }) => ({ receipts: await client.receipts(batch) }),
});

const cancel = route({
  id: 'cancelBatch',
  method: 'POST',
  path: '/v1/batches/{batch}/cancel',
  scope: 'submit',
  tag,
  summary: 'Cancel an unsent lane batch, or ask the downstream to stop a batch that it accepted',
  params,
  answer: {
    status: 200,
    schema: contracts.cancelledBatch,
    description: 'Cancelled, or the cancellation was requested (see `cancellation`)',
  },
  problems: ['not-found', 'conflict'],
  keyed: 'harmless',
  run: ({ client, params: { batch } }) => client.cancelBatch(batch),
});

const resolve = route({
  id: 'resolveBatch',
  method: 'POST',
  path: '/v1/batches/{batch}/resolve',
  scope: 'operate',
  tag,
  summary: 'Manually resolve a parked batch with an unknown outcome',
  params,
  body: contracts.verdict,
  answer: { status: 200, schema: z.object({ resolved: count }), description: 'Number of tasks resolved' },
  problems: ['not-found', 'conflict'],
  keyed: 'harmless',
  run: ({ client, params: { batch }, body }) => client.resolve({ batch }, body),
});

const found = <T>(view: T | null, what: string, batch: number): T => {
  if (view === null)
    throw new NotFoundError(what, String(batch), 'It does not exist, or it was deleted after its retention period.');
  return view;
};

export const batchRoutes = [submit, list, get, status, receipts, cancel, resolve];
