import { z } from 'zod';
import type { Client } from '../../../client/client';
import { NotFoundError } from '../../../client/errors';
import type { Scope } from '../../../postgres/api/token';
import * as contracts from '../../../workflows/contracts/bulk';
import { afterPage, handlerName, pageLimit } from '../../../workflows/contracts/fields';
import { route } from '../route';

const tag = 'Bulk actions';
const params = z.object({ bulk: contracts.bulkId });

/** Who may not submit a payload may not change one either. */
const alsoNeeds = (body: unknown): Scope | null => {
  const { action } = body as z.output<typeof contracts.bulkInput>;
  return action.do === 'update' && action.payloadPatch !== undefined ? 'submit' : null;
};

const start = route({
  id: 'startBulk',
  method: 'POST',
  path: '/v1/bulk',
  scope: 'operate',
  alsoNeeds,
  tag,
  summary: 'Start a bulk action: cancel, redrive, resolve or update all tasks of a handler that match a filter',
  description:
    'Returns as soon as it is stored. The workers make it in steps of at most 500 tasks; follow it by its id. ' +
    'No task is changed twice, and one that has left the state meanwhile is skipped. ' +
    'With `payloadPatch` the token needs the scope `submit`, too.',
  body: contracts.bulkInput,
  answer: { status: 202, schema: contracts.bulkView, description: 'Started' },
  problems: ['not-found', 'refused'],
  keyed: 'id',
  run: ({ client, body, keyId }) => client.bulk.start({ ...body, ...(keyId === undefined ? {} : { id: keyId }) }),
});

const dryRun = route({
  id: 'dryRunBulk',
  method: 'POST',
  path: '/v1/bulk:dry-run',
  scope: 'read',
  alsoNeeds,
  tag,
  summary: 'Count the tasks that a bulk action would change now, and show some of them',
  description:
    'Changes nothing. Counts for at most 10 s: then `complete` is false, and there are more. ' +
    'With `payloadPatch` the token needs the scope `submit`, too.',
  body: contracts.bulkInput,
  answer: { status: 200, schema: contracts.bulkDryRun, description: 'What it would change' },
  problems: ['not-found', 'refused'],
  keyed: 'harmless',
  isHeavy: () => true,
  isLarge: true,
  run: ({ client, body }) => client.bulk.dryRun(body),
});

const list = route({
  id: 'listBulk',
  method: 'GET',
  path: '/v1/bulk',
  scope: 'read',
  tag,
  summary: 'List bulk actions, newest first',
  description: 'A token that is limited to handlers must name one.',
  query: z.strictObject({
    handler: handlerName.optional(),
    open: z.boolean().optional().describe('Only those that have not ended'),
    limit: pageLimit(100),
    after: afterPage,
  }),
  answer: { status: 200, schema: contracts.bulkPage, description: 'A page' },
  problems: ['not-found'],
  isLarge: true,
  run: ({ client, query }) => client.bulk.list(query),
});

const get = route({
  id: 'getBulk',
  method: 'GET',
  path: '/v1/bulk/{bulk}',
  scope: 'read',
  tag,
  summary: 'Show a bulk action: what it does, and how far it is',
  params,
  answer: { status: 200, schema: contracts.bulkView, description: 'The bulk action' },
  problems: ['not-found'],
  run: ({ client, params: { bulk } }) => found(client, bulk),
});

const found = async (client: Client, id: string): Promise<contracts.BulkView> => {
  const view = await client.bulk.get(id);
  if (view === null) throw new NotFoundError('bulk action', id, 'It was never started, or it was deleted.');
  return view;
};

const stop = route({
  id: 'stopBulk',
  method: 'POST',
  path: '/v1/bulk/{bulk}/stop',
  scope: 'operate',
  tag,
  summary: 'Stop a bulk action; what it has changed stays so',
  params,
  answer: { status: 200, schema: contracts.bulkView, description: 'It changes no further task' },
  problems: ['not-found'],
  keyed: 'harmless',
  run: ({ client, params: { bulk } }) => client.bulk.stop(bulk),
});

export const bulkRoutes = [start, dryRun, list, get, stop];
