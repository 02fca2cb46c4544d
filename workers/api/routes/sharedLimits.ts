import { z } from 'zod';
import { afterPage, pageLimit, sharedLimitName } from '../../../workflows/contracts/fields';
import {
  sharedLimitChanged,
  sharedLimitSettings,
  sharedLimitsPage,
  sharedLimitView,
} from '../../../workflows/contracts/limits';
import { route } from '../route';
import { untilOf } from './limits';
import { refuseSharedAbove } from './operator';

const tag = 'Limits';
const ofName = z.object({ name: sharedLimitName });

const list = route({
  id: 'listSharedLimits',
  method: 'GET',
  path: '/v1/shared-limits',
  scope: 'read',
  tag,
  summary: 'List the limits that handlers share',
  query: z.strictObject({ limit: pageLimit(100), after: afterPage }),
  answer: { status: 200, schema: sharedLimitsPage, description: 'A page' },
  problems: [],
  isLarge: true,
  run: ({ client, query }) => client.sharedLimits.list(query),
});

const get = route({
  id: 'getSharedLimit',
  method: 'GET',
  path: '/v1/shared-limits/{name}',
  scope: 'read',
  tag,
  summary: 'Show a limit that handlers share: who shares it, what counts, and who set it until when',
  params: ofName,
  answer: { status: 200, schema: sharedLimitView, description: 'The limit' },
  problems: ['not-found'],
  run: ({ client, params: { name } }) => client.sharedLimits.get(name),
});

const set = route({
  id: 'setSharedLimit',
  method: 'PATCH',
  path: '/v1/shared-limits/{name}',
  scope: 'operate',
  tag,
  summary: 'Set a limit that handlers share in place of its definition',
  description: 'All workers follow within about a second. Callers cannot set more than is defined.',
  params: ofName,
  body: sharedLimitSettings,
  answer: { status: 200, schema: sharedLimitChanged, description: 'The limit, and what has changed' },
  problems: ['not-found', 'refused'],
  run: async ({ client, params: { name }, body: { until, forMs, ...limits } }) => {
    refuseSharedAbove(await client.sharedLimits.get(name), limits);
    return client.sharedLimits.set(name, limits, untilOf({ until, forMs }));
  },
});

const remove = route({
  id: 'removeSharedLimit',
  method: 'DELETE',
  path: '/v1/shared-limits/{name}',
  scope: 'operate',
  tag,
  summary: 'Remove what is set of a limit that handlers share: its definition counts again',
  params: ofName,
  answer: { status: 200, schema: sharedLimitChanged, description: 'The limit, and what has changed' },
  problems: ['not-found'],
  run: ({ client, params: { name } }) => client.sharedLimits.remove(name),
});

export const sharedLimitRoutes = [list, get, set, remove];
