import { httpHandler } from '../../../handlers';
import type { Downstream } from '../../handlers/downstream';
import { json, startDownstream } from '../../handlers/downstream';
import type { TestMuster } from '../../helpers/muster';
import { startMuster } from '../../helpers/muster';
import { expectWhole } from '../../helpers/whole';

/**
 * A JSON handler with a `reconcileUrl`: a result that is missing in the answer is asked for, not
 * parked and not sent again.
 */
const MISSING = 5;
let downstream: Downstream;
let muster: TestMuster;
beforeAll(async () => {
  downstream = await startDownstream();
  muster = await startMuster(
    (['none', { by: 'batch' }] as const).map((idempotency) =>
      httpHandler({
        kind: 'http',
        name: idempotency === 'none' ? 'none' : 'by-batch',
        target: 'to',
        limits: { maxItems: 8 },
        linger: { lingerMs: 50 },
        idempotency,
        retry: { inPlace: { times: 2, baseMs: 20 }, delayed: { baseMs: 50, maxMs: 200 }, maxAttempts: 4 },
        request: { url: `${downstream.url}/batch`, envelope: { items: '{{items}}' }, item: { id: '{{id}}' } },
        response: { results: 'results', matchBy: 'id', status: { path: 'status' }, error: 'error', result: false },
        reconcileUrl: { url: `${downstream.url}/look/{{idempotencyKey}}` },
      }),
    ),
  );
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
