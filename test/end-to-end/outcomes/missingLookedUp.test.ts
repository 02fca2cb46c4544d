import { httpHandler } from '../../../handlers';
import type { Downstream } from '../../handlers/downstream';
import { json, startDownstream } from '../../handlers/downstream';
import type { TestMuster } from '../../helpers/muster';
import { startMuster } from '../../helpers/muster';
import { expectWhole } from '../../helpers/whole';

/**
 * A result that is missing in the answer: with a `reconcileUrl` it is asked for, not parked and not
 * sent again.
 */
const MISSING = 5;
let downstream: Downstream;
let muster: TestMuster;
beforeAll(async () => {
  downstream = await startDownstream();
  const define = (name: string, more: object) =>
    httpHandler({
      kind: 'http',
      name,
      target: 'to',
      limits: { maxItems: 8 },
      linger: { lingerMs: 50 },
      retry: { inPlace: { times: 2, baseMs: 20 }, delayed: { baseMs: 50, maxMs: 200 }, maxAttempts: 4 },
      request: { url: `${downstream.url}/batch`, envelope: { items: '{{items}}' }, item: { id: '{{id}}' } },
      response: { results: 'results', matchBy: 'id', status: { path: 'status' }, error: 'error', result: false },
      ...more,
    });
  const reconcileUrl = { url: `${downstream.url}/look/{{idempotencyKey}}` };
  muster = await startMuster([
    define('none', { idempotency: 'none', reconcileUrl }),
    define('by-batch', { idempotency: { by: 'batch' }, reconcileUrl }),
    define('resend', { idempotency: { by: 'batch' }, onUnknown: 'resend' }),
  ]);
});
afterAll(async () => {
  await muster.stop();
  await downstream.close();
});

test.each(['none', 'by-batch'])(
  'idempotency %s: a missing result is looked up by the key of the call, and nothing is sent again',
  async (handler) => {
    downstream.seen.length = 0;
    const ids = Array.from({ length: 8 }, (_, n) => `${handler}-${n}`);
    // The look-up knows what the answer did not say: that one was refused.
    const results = ids.map((id, n) => ({ id, status: n === MISSING ? 400 : 200, error: n === MISSING ? 'no' : null }));
    downstream.answer = (response, seen, request) =>
      json(200, { results: seen.url === '/batch' ? results.filter((_, n) => n !== MISSING) : results })(
        response,
        seen,
        request,
      );
    await muster.client.submit(
      handler,
      ids.map((id) => ({ id, payload: { to: 'one' } })),
    );
    const ended = await muster.client.waitFor(ids, { timeoutMs: 30_000 });
    expect(ended.map(({ state, error }) => [state, error])).toEqual(
      ids.map((_, n) => (n === MISSING ? ['failed', 'no'] : ['succeeded', null])),
    );
    const [call, look, ...more] = downstream.seen;
    expect([call!.url, look!.url, more.length]).toEqual([
      '/batch',
      `/look/${String(call!.headers['idempotency-key'])}`,
      0,
    ]);
    await expectWhole(muster.client);
  },
);

test('without a look-up, and with onUnknown: resend, it is sent again alone, under the key of the call', async () => {
  downstream.seen.length = 0;
  const ids = Array.from({ length: 8 }, (_, n) => `resend-${n}`);
  const all = JSON.stringify({ items: ids.map((id) => ({ id })) });
  downstream.answer = (response, seen, request) => {
    const { items } = JSON.parse(seen.body) as { items: { id: string }[] };
    const answered = items.filter(({ id }) => items.length === 1 || id !== ids[MISSING]);
    json(200, { results: answered.map(({ id }) => ({ id, status: 200 })) })(response, seen, request);
  };
  await muster.client.submit(
    'resend',
    ids.map((id) => ({ id, payload: { to: 'one' } })),
  );
  const ended = await muster.client.waitFor(ids, { timeoutMs: 30_000 });
  expect(ended.map(({ state }) => state)).toEqual(ids.map(() => 'succeeded'));
  const [call] = downstream.seen;
  expect(downstream.seen.map(({ body }) => body)).toEqual([all, JSON.stringify({ items: [{ id: ids[MISSING] }] })]);
  expect(downstream.seen.map(({ headers }) => headers['idempotency-key'])).toEqual([
    call!.headers['idempotency-key'],
    call!.headers['idempotency-key'],
  ]);
  expect(call!.headers['idempotency-key']).toMatch(/^muster-/);
  await expectWhole(muster.client);
});
