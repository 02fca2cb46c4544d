import { z } from 'zod';
import { afterPage, handlerName, pageLimit, time } from '../../../workflows/contracts/fields';
import { outcomePage } from '../../../workflows/contracts/outcomes';
import { PAGE_MAX } from '../../../workflows/planning/pages';
import { route } from '../route';

const list = route({
  id: 'listOutcomes',
  method: 'GET',
  path: '/v1/outcomes',
  scope: 'read',
  tag: 'Outcomes',
  summary: 'List what calls and tasks came to, per handler and minute, newest first',
  description:
    'Each worker adds its counts every 5 s: they are statistics, of which a crash loses at most those. ' +
    'A token that is limited to handlers must name one.',
  query: z.strictObject({
    handler: handlerName.optional(),
    since: time.max(40).optional().describe('A time in the first minute; default: an hour ago'),
    until: time.max(40).optional().describe('A time in the last minute; default: now'),
    limit: pageLimit(PAGE_MAX),
    after: afterPage,
  }),
  answer: { status: 200, schema: outcomePage, description: 'A page' },
  problems: ['not-found'],
  isLarge: true,
  run: ({ client, query }) => client.outcomes.list(query),
});

export const outcomeRoutes = [list];
