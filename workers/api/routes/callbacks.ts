import { z } from 'zod';
import * as contracts from '../../../workflows/contracts/callback';
import { afterPage, handlerName, pageLimit } from '../../../workflows/contracts/fields';
import { route } from '../route';

const tag = 'Callbacks';
const sent = { status: 200 as const, schema: contracts.sentCallbacks, description: 'Number of callbacks' };

const list = route({
  id: 'listCallbacks',
  method: 'GET',
  path: '/v1/callbacks',
  scope: 'read',
  tag,
  summary: 'List callbacks that were tried and not delivered, newest first',
  description:
    'A page looks at a bounded number of rows: it may be short, even empty, and still have a `next`. ' +
    'A token that is limited to handlers must name one.',
  query: z.strictObject({
    handler: handlerName.optional(),
    state: contracts.callbackState.optional(),
    limit: pageLimit(100),
    after: afterPage,
  }),
  answer: { status: 200, schema: contracts.callbackPage, description: 'A page' },
  problems: ['not-found'],
  isLarge: true,
  run: ({ client, query }) => client.callbacks.list(query),
});

const sendOne = route({
  id: 'sendCallback',
  method: 'POST',
  path: '/v1/callbacks/{callback}/send',
  scope: 'operate',
  tag,
  summary: 'Send a callback again that was not delivered',
  params: z.object({ callback: contracts.callbackId }),
  answer: sent,
  problems: ['not-found'],
  keyed: 'harmless',
  run: ({ client, params: { callback } }) => client.callbacks.send({ ids: [callback] }),
});

const sendMany = route({
  id: 'sendCallbacks',
  method: 'POST',
  path: '/v1/callbacks:send',
  scope: 'operate',
  tag,
  summary: 'Send callbacks again that were not delivered',
  description: 'Without `ids`: those that were given up, of one handler or of all. They are due at once.',
  body: contracts.sendInput,
  bodyOptional: true,
  answer: sent,
  problems: ['not-found', 'refused'],
  keyed: 'harmless',
  run: ({ client, body }) => client.callbacks.send(body),
});

export const callbackRoutes = [list, sendOne, sendMany];
