import { readFileSync } from 'node:fs';
import path from 'node:path';
import { httpHandler } from '../../../handlers';
import { CASES_MIN, certifyHandler } from '../../../handlers/trials';

/** Handlers in JSON with a `sample`: the fake speaks as their templates and paths say. @slow */

const EXAMPLE = path.join(__dirname, '../../../examples/elasticsearch-bulk/muster.config.json');
const { handlers } = JSON.parse(readFileSync(EXAMPLE, 'utf8')) as { handlers: object[] };
const ORDERS = {
  kind: 'http',
  name: 'orders',
  target: 'customer.id',
  limits: { maxItems: 100, maxBytes: 1_000_000 },
  idempotency: { by: 'batch' },
  sample: { customer: { id: 'c1' }, order: { note: '{{text}}' } },
  request: {
    url: 'https://api.example.com/customers/{{target}}/orders:batch',
    item: { id: '{{id}}', order: '{{payload.order}}' },
    envelope: { of: { orders: '{{items}}' } },
  },
  response: {
    results: 'of.orders',
    matchBy: 'id',
    status: { path: 'is.status', ok: ['created'], retry: ['busy'], failed: ['4xx'] },
    error: 'is.message',
  },
};
const WHOLE = {
  ...ORDERS,
  request: { ...ORDERS.request, envelope: undefined },
  response: { perItem: false },
};
const LINES = {
  ...ORDERS,
  request: { ...ORDERS.request, envelope: undefined, encode: 'ndjson' },
  response: { ...ORDERS.response, results: undefined, decode: 'ndjson' },
};

test.each([
  ['_bulk of the example', handlers[0]!],
  ['results by id in an envelope', ORDERS],
  ['lines both ways', LINES],
  ['answers for the whole call', WHOLE],
])('%s: certified', async (_what, config) => {
  const { cases, ...grade } = await certifyHandler(httpHandler(config));
  expect(cases.filter(({ status }) => status === 'failed')).toEqual([]);
  expect(grade).toMatchObject({ certified: true });
  expect(grade.run).toBeGreaterThan(CASES_MIN);
});

test.each([
  ['does not bisect', { bisect: false }, /is halved until that is alone/],
  ['takes 500 for a refusal of the content', { answers: { rejected: ['5xx'] } }, /500 after the effect/],
])('a handler that %s is not certified', async (_what, more, seenBy) => {
  const { certified, cases } = await certifyHandler(httpHandler({ ...ORDERS, ...more }));
  expect(certified).toBe(false);
  const failed = cases.filter(({ status }) => status === 'failed').map(({ name }) => name);
  expect(failed.join('\n')).toMatch(seenBy);
});

test('a sample needs {{id}} in the item, and is refused beside accepted', () => {
  const { sample: _sample, ...without } = ORDERS;
  expect(httpHandler(without).trial).toBeUndefined();
  const bare = { ...ORDERS, request: { ...ORDERS.request, item: { order: '{{payload.order}}' } } };
  expect(() => httpHandler(bare)).toThrow('request.item: expected {{id}} in it beside sample');
  const accepted = { ...ORDERS, accepted: { reference: 'id' } };
  expect(() => httpHandler(accepted)).toThrow('sample: expected none beside accepted');
});
