import { z } from 'zod';
import { MAX_ACK_IDS } from '../../../workflows/planning/fanouts/segments';
import { isFanoutOver } from '../../../workflows/planning/fanouts/states';
import type { Client } from '../../../client/client';
import { NotFoundError } from '../../../client/errors';
import type { FanoutView } from '../../../workflows/contracts/fanout';
import * as contracts from '../../../workflows/contracts/fanout';
import { count } from '../../../workflows/contracts/fields';
import { eventRoute, route } from '../route';
import { events, waited } from '../streams';
import { isWaiting, serverEvent, waitQuery } from './parts';

const tag = 'Fan-outs';
const params = z.object({ fanout: contracts.fanoutId });

const get = async (client: Client, fanout: string, exact = false): Promise<FanoutView> => {
  const found = await client.getFanout(fanout, { exact });
  if (found === null)
    throw new NotFoundError('fan-out', fanout, 'It was never opened, or was deleted after its retention period.');
  return found;
};

const open = route({
  id: 'openFanout',
  method: 'POST',
  path: '/v1/fanouts',
  scope: 'submit',
  tag,
  summary: 'Open a fan-out, empty',
  description: 'With an `id` of your own, or an Idempotency-Key, it may be repeated.',
  body: contracts.fanoutOpening,
  bodyOptional: true,
  answer: { status: 201, schema: contracts.fanoutView, description: 'Opened' },
  problems: ['not-found'],
  keyed: 'id',
  run: ({ client, body, keyId }) => client.openFanout({ ...(keyId === undefined ? {} : { id: keyId }), ...body }),
});

const one = route({
  id: 'getFanout',
  method: 'GET',
  path: '/v1/fanouts/{fanout}',
  scope: 'read',
  tag,
  summary: 'A fan-out as it is now, or, with `wait`, once it is complete or has expired',
  params,
  query: z.strictObject({
    exact: z.boolean().default(false).describe('Count the open items however large it is'),
    wait: waitQuery,
  }),
  answer: { status: 200, schema: contracts.fanoutView, description: 'The fan-out' },
  problems: ['not-found'],
  waits: isWaiting,
  run: ({ client, params: { fanout }, query, signal, maxWaitS }) =>
    waited(
      () => get(client, fanout, query.exact),
      ({ state }) => isFanoutOver(state),
      Math.min(query.wait, maxWaitS),
      signal,
    ),
});

const watch = eventRoute({
  id: 'watchFanout',
  method: 'GET',
  path: '/v1/fanouts/{fanout}/events',
  scope: 'read',
  tag,
  summary: 'Its progress as server-sent events',
  description: '`progress` with the fan-out whenever it has changed, `end` with it when it is complete or has expired.',
  params,
  answer: { status: 200, schema: serverEvent, description: 'Events' },
  problems: ['not-found'],
  run: async ({ client, params: { fanout }, signal }) => {
    const look = () => get(client, fanout);
    return events({ first: await look(), look, isOver: ({ state }) => isFanoutOver(state), signal });
  },
});

const add = route({
  id: 'addItems',
  method: 'POST',
  path: '/v1/fanouts/{fanout}/items',
  scope: 'submit',
  tag,
  summary: 'Add items: how many; their ids are made from the answer',
  description: 'Refused after the seal. With your own `key`, or an Idempotency-Key, it may be repeated.',
  params,
  body: contracts.fanoutAdd,
  answer: { status: 201, schema: contracts.addedItems, description: 'Added' },
  problems: ['not-found', 'conflict'],
  keyed: 'id',
  run: async ({ client, params: { fanout }, body: { items, key = undefined }, keyId }) => {
    const addKey = key ?? keyId;
    const added = await client.addItems(fanout, items, addKey === undefined ? {} : { key: addKey });
    return { fanout, items: added.items, ranges: [...added.ranges] };
  },
});

const seal = route({
  id: 'sealFanout',
  method: 'POST',
  path: '/v1/fanouts/{fanout}/seal',
  scope: 'submit',
  tag,
  summary: 'Seal a fan-out: nothing can be added after this',
  description: '`completed`: all was acked before, or nothing added: this call reports the completion.',
  params,
  answer: { status: 200, schema: contracts.sealAnswer, description: 'Sealed' },
  problems: ['not-found', 'conflict'],
  keyed: 'harmless',
  run: ({ client, params: { fanout } }) => client.sealFanout(fanout),
});

const ack = route({
  id: 'ackItems',
  method: 'POST',
  path: '/v1/items:ack',
  scope: 'submit',
  tag,
  summary: `Ack items, at most ${MAX_ACK_IDS}: in any order, of any fan-outs, as often as you like`,
  description: 'Ids that cannot be are named, and nothing of the call is applied.',
  body: contracts.itemIds,
  answer: { status: 200, schema: contracts.ackAnswer, description: 'Acked' },
  problems: ['refused'],
  keyed: 'harmless',
  run: ({ client, body: { items } }) => client.ackItems(items, { idsPerCall: MAX_ACK_IDS }),
});

const reopen = route({
  id: 'reopenItems',
  method: 'POST',
  path: '/v1/items:reopen',
  scope: 'submit',
  tag,
  summary: 'Take acks back, as long as their fan-out is not complete',
  body: contracts.itemIds,
  answer: { status: 200, schema: z.object({ items: count, reopened: count }), description: 'Open again' },
  problems: ['refused'],
  keyed: 'harmless',
  run: ({ client, body: { items } }) => client.reopenItems(items, { idsPerCall: MAX_ACK_IDS }),
});

const read = route({
  id: 'readItems',
  method: 'POST',
  path: '/v1/items:read',
  scope: 'read',
  tag,
  summary: 'Whether each of these items is acked, in their order',
  body: contracts.itemIds,
  answer: { status: 200, schema: z.object({ acked: z.array(z.boolean()) }), description: 'One an item' },
  problems: ['refused'],
  run: async ({ client, body: { items } }) => ({ acked: await client.readItems(items) }),
});

const reap = route({
  id: 'reapFanouts',
  method: 'POST',
  path: '/v1/fanouts:reap',
  scope: 'admin',
  tag,
  summary: 'What the sweeper does by itself, now, with these intervals',
  body: contracts.fanoutReap,
  answer: { status: 200, schema: contracts.reapCounts, description: 'What went' },
  problems: [],
  keyed: 'harmless',
  run: ({ client, body }) => client.reapFanouts(body),
});

export const fanoutRoutes = [open, one, watch, add, seal, ack, reopen, read, reap];
