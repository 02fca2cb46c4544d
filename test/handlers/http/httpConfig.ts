/** The smallest http handler, JSON only; tests say what differs. */
export const httpConfig = (url: string, changes: Record<string, unknown> = {}): Record<string, unknown> => ({
  kind: 'http',
  name: 'orders',
  target: 'to',
  limits: { maxItems: 100 },
  request: { url: `${url}/batch`, item: { id: '{{id}}', n: '{{payload.n}}' } },
  response: { results: 'results', matchBy: 'id', status: { path: 'status' }, error: 'error', result: 'value' },
  ...changes,
});
