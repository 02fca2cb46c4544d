import type { Project } from './names';

/** Returns the files of a project with a handler in JSON, by path. */
export const jsonFiles = ({ handler, url }: Project): Record<string, string> => ({
  'muster.config.json': `${JSON.stringify({ handlers: [handlerOf(handler, url)] }, null, 2)}\n`,
});

/** A downstream that takes a list and answers with a verdict for each of its items. */
const handlerOf = (name: string, url: string): object => ({
  kind: 'http',
  name,
  target: 'customer',
  schema: {
    type: 'object',
    required: ['customer', 'total'],
    properties: { customer: { type: 'string' }, total: { type: 'number' } },
  },
  limits: { maxItems: 100, maxBytes: 1_000_000 },
  linger: { lingerMs: 2_000 },
  idempotency: { by: 'batch' },
  sample: { customer: 'ada', total: 12 },
  request: {
    url,
    item: { id: '{{id}}', total: '{{payload.total}}' },
    envelope: { customer: '{{target}}', items: '{{items}}' },
  },
  response: {
    results: 'results',
    matchBy: 'id',
    status: { path: 'status', ok: ['ok'], retry: ['busy'], failed: ['invalid'] },
    error: 'error',
  },
});
