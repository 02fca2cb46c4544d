import { z } from 'zod';
import { errorList } from '../../../workflows/contracts/errors';
import { handlerName, pageLimit, time } from '../../../workflows/contracts/fields';
import { route } from '../route';

const list = route({
  id: 'listErrors',
  method: 'GET',
  path: '/v1/errors',
  scope: 'read',
  tag: 'Errors',
  summary: 'Count the errors of tasks, batches and callbacks by what they have in common',
  description:
    'Reads the newest 10,000 rows of each table at most (1,000 with a payload codec); ' +
    '`complete` says whether that was all. A token that is limited to handlers must name one.',
  query: z.strictObject({
    handler: handlerName.optional(),
    since: time.max(40).optional().describe('Only errors since this time; default: a day ago'),
    limit: pageLimit(50),
  }),
  answer: { status: 200, schema: errorList, description: 'The most frequent' },
  problems: ['not-found'],
  isLarge: true,
  run: ({ client, query }) => client.errors.list(query),
});

export const errorRoutes = [list];
