import { z } from 'zod';
import { afterPage, handlerName, pageLimit, targetKey } from '../../../workflows/contracts/fields';
import { limitsChanged, limitSettings, limitsPage, limitsView } from '../../../workflows/contracts/limits';
import { route } from '../route';
import { refuseLimitsAbove } from './operator';
import { FOLLOWED } from '../../../workflows/planning/limits/followed';

const tag = 'Limits';
const ofHandler = z.object({ handler: handlerName });
const ofTarget = z.object({ handler: handlerName, target: targetKey });
const shown = { status: 200 as const, schema: limitsView, description: 'The limits' };
const changed = { status: 200 as const, schema: limitsChanged, description: 'The limits, and what has changed' };

const list = route({
  id: 'listLimits',
  method: 'GET',
  path: '/v1/limits',
  scope: 'read',
  tag,
  summary: 'List the handlers and targets for which limits are set',
  query: z.strictObject({ handler: handlerName.optional(), limit: pageLimit(100), after: afterPage }),
  answer: { status: 200, schema: limitsPage, description: 'A page' },
  problems: ['not-found'],
  isLarge: true,
  run: ({ client, query }) => client.limits.list(query),
});

const get = route({
  id: 'getLimits',
  method: 'GET',
  path: '/v1/limits/{handler}',
  scope: 'read',
  tag,
  summary: 'Show the limits of a handler: what counts, and who set it until when',
  params: ofHandler,
  answer: shown,
  problems: ['not-found'],
  run: ({ client, params: { handler } }) => client.limits.get(handler),
});

const set = route({
  id: 'setLimits',
  method: 'PATCH',
  path: '/v1/limits/{handler}',
  scope: 'operate',
  tag,
  summary: 'Set limits of a handler in place of those of its definition',
  description: FOLLOWED,
  params: ofHandler,
  body: limitSettings,
  answer: changed,
  problems: ['not-found', 'refused'],
  run: ({ client, operator, params: { handler }, body: { until, forMs, ...limits } }) => {
    refuseLimitsAbove(operator, { handler }, limits);
    return client.limits.set(handler, limits, untilOf({ until, forMs }));
  },
});

const remove = route({
  id: 'removeLimits',
  method: 'DELETE',
  path: '/v1/limits/{handler}',
  scope: 'operate',
  tag,
  summary: 'Remove what is set of a handler: its definition counts again',
  params: ofHandler,
  answer: changed,
  problems: ['not-found'],
  run: ({ client, params: { handler } }) => client.limits.remove(handler),
});

const getOfTarget = route({
  id: 'getTargetLimits',
  method: 'GET',
  path: '/v1/limits/{handler}/targets/{target}',
  scope: 'read',
  tag,
  summary: 'Show the limits of a target: what counts, and who set it until when',
  params: ofTarget,
  answer: shown,
  problems: ['not-found'],
  run: ({ client, params: { handler, target } }) => client.limits.get(handler, { target }),
});

const setOfTarget = route({
  id: 'setTargetLimits',
  method: 'PATCH',
  path: '/v1/limits/{handler}/targets/{target}',
  scope: 'operate',
  tag,
  summary: "Set limits of one target in place of its handler's",
  description: FOLLOWED,
  params: ofTarget,
  body: limitSettings,
  answer: changed,
  problems: ['not-found', 'refused'],
  run: ({ client, operator, params: { handler, target }, body: { until, forMs, ...limits } }) => {
    refuseLimitsAbove(operator, { handler, target }, limits);
    return client.limits.set(handler, limits, { target, ...untilOf({ until, forMs }) });
  },
});

const removeOfTarget = route({
  id: 'removeTargetLimits',
  method: 'DELETE',
  path: '/v1/limits/{handler}/targets/{target}',
  scope: 'operate',
  tag,
  summary: "Remove what is set of a target: its handler's limits count again",
  params: ofTarget,
  answer: changed,
  problems: ['not-found'],
  run: ({ client, params: { handler, target } }) => client.limits.remove(handler, { target }),
});

/** Returns when what is asked for ends, without what was not given. */
export const untilOf = ({ until, forMs }: { until?: string | undefined; forMs?: number | undefined }) => ({
  ...(until === undefined ? {} : { until }),
  ...(forMs === undefined ? {} : { forMs }),
});

export const limitRoutes = [list, get, set, remove, getOfTarget, setOfTarget, removeOfTarget];
