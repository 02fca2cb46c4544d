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
import { refuseWorkflows } from './operator';
import { hasMany, isWaiting, serverEvent, waitQuery } from './parts';

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
  summary: 'Open an empty fan-out',
  description: 'With an `id` of your own, or an Idempotency-Key, it may be repeated.',
  body: contracts.fanoutOpening,
  bodyOptional: true,
  answer: { status: 201, schema: contracts.fanoutView, description: 'Opened' },
  problems: ['not-found', 'refused', 'quota'],
  keyed: 'id',
  run: ({ client, body, keyId, tenant, operator }) => {
    refuseWorkflows(operator, [['notify', body?.notify]]);
    return client.openFanout({
      ...(keyId === undefined ? {} : { id: keyId }),
      ...body,
      ...(tenant === undefined ? {} : { tenant }),
    });
  },
});

const one = route({
  id: 'getFanout',
  method: 'GET',
  path: '/v1/fanouts/{fanout}',
  scope: 'read',
  tag,
  summary: 'Show a fan-out now or, with `wait`, once it is complete or has expired',
  params,
  query: z.strictObject({
    exact: z.boolean().default(false).describe('Count the open items even if the fan-out is very large'),
    wait: waitQuery,
  }),
  answer: { status: 200, schema: contracts.fanoutView, description: 'The fan-out' },
  problems: ['not-found'],
  waits: isWaiting,
  run: ({ client, params: { fanout }, query, signal, together, maxWaitS }) => {
    const again = together(() => get(client, fanout, query.exact));
    // An exact count of many items holds a connection for long: who asks at once gets the same.
    const look = () => (query.exact ? again(0) : get(client, fanout));
    const waitS = Math.min(query.wait, maxWaitS);
    return waited({ look, again, isOver: ({ state }) => isFanoutOver(state), waitS, signal });
  },
});

const watch = eventRoute({
  id: 'watchFanout',
  method: 'GET',
  path: '/v1/fanouts/{fanout}/events',
  scope: 'read',
  tag,
  summary: 'Stream the progress of a fan-out as server-sent events',
  description: 'Sends `progress` with the fan-out whenever it changes, and `end` when it is complete or has expired.',
  params,
  answer: { status: 200, schema: serverEvent, description: 'Events' },
  problems: ['not-found'],
  run: async ({ client, params: { fanout }, signal, together }) => {
    const look = () => get(client, fanout);
    return events({ first: await look(), again: together(look), isOver: ({ state }) => isFanoutOver(state), signal });
  },
});

const add = route({
  id: 'addItems',
  method: 'POST',
  path: '/v1/fanouts/{fanout}/items',
  scope: 'submit',
  tag,
  summary: 'Add a number of items; their ids are derived from the answer',
  description: 'Refused once the fan-out is sealed. May be repeated with your own `key` or an Idempotency-Key.',
  params,
  body: contracts.fanoutAdd,
  isHeavy: hasMany('items'),
  answer: { status: 201, schema: contracts.addedItems, description: 'Added' },
  problems: ['not-found', 'conflict', 'quota'],
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
  summary: 'Seal a fan-out: no more items can be added',
  description: '`completed`: every item was already acked (or none was added), so this call reports the completion.',
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
  summary: `Ack up to ${MAX_ACK_IDS} items of one or more fan-outs, in any order, any number of times`,
  description: 'Invalid ids are reported, and then no item of the call is acked.',
  body: contracts.itemIds,
  isHeavy: hasMany('items'),
  answer: { status: 200, schema: contracts.ackAnswer, description: 'Acked' },
  problems: ['refused'],
  keyed: 'harmless',
  run: ({ client, body: { items } }) => client.ackItems(items, { idsPerCall: MAX_ACK_IDS }),
  hasEffect: ({ completed }) => completed.length > 0, // which no other answer tells
});

const reopen = route({
  id: 'reopenItems',
  method: 'POST',
  path: '/v1/items:reopen',
  scope: 'submit',
  tag,
  summary: 'Undo acks while their fan-out is not complete',
  body: contracts.itemIds,
  isHeavy: hasMany('items'),
  answer: { status: 200, schema: z.object({ items: count, reopened: count }), description: 'Number of items reopened' },
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
  summary: 'Show whether each of these items is acked, in the given order',
  body: contracts.itemIds,
  isHeavy: hasMany('items'),
  answer: { status: 200, schema: z.object({ acked: z.array(z.boolean()) }), description: 'One entry per item' },
  problems: ['refused'],
  run: async ({ client, body: { items } }) => ({ acked: await client.readItems(items) }),
});

const reap = route({
  id: 'reapFanouts',
  method: 'POST',
  path: '/v1/fanouts:reap',
  scope: 'admin',
  tag,
  summary: 'Expire and delete fan-outs now, with these intervals, as the sweeper does periodically',
  body: contracts.fanoutReap,
  answer: { status: 200, schema: contracts.reapCounts, description: 'Number of fan-outs expired and deleted' },
  problems: [],
  keyed: 'harmless',
  run: ({ client, body }) => client.reapFanouts(body),
});

export const fanoutRoutes = [open, one, watch, add, seal, ack, reopen, read, reap];
