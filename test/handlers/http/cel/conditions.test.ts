import { callHandler, httpHandler, pollReferences, reconcileOutcome } from '../../../../handlers';
import { batchOf, buildContext, errorIn, problemsIn, remember } from '../../build';
import { json, raw } from '../../downstream';
import { httpCaller } from '../httpCaller';
import { httpConfig } from '../httpConfig';

/** What an answer means, as expressions in CEL say. */

const http = httpCaller();
const cel = (text: string) => ({ cel: text });
const problems = (changes: Record<string, unknown>) =>
  problemsIn(() => httpHandler(httpConfig('https://api.example.com', changes)));

describe('of items (response.status)', () => {
  const deviants = async (status: object, ...results: readonly object[]) => {
    const outcome = await http.call(
      json(
        200,
        results.map((result, n) => ({ id: `t${n}`, ...result })),
      ),
      { response: { matchBy: 'id', result: false, error: 'error', status } },
    );
    return outcome.kind === 'results' ? outcome.deviants.map(({ status: one }) => one) : outcome;
  };
  const status = {
    failed: cel("has(item.error) && item.error.code == 'BAD_ADDRESS'"),
    retry: cel('has(item.error)'),
    ok: cel('true'),
  };

  test('the first that is true, in the order written', async () => {
    expect(await deviants(status, { error: { code: 'BAD_ADDRESS' } }, { error: { code: 'BUSY' } }, {})).toEqual([
      'failed',
      'retry',
    ]);
    const { failed, ...rest } = status;
    expect(await deviants({ ...rest, failed }, { error: { code: 'BAD_ADDRESS' } }, {}, {})).toEqual(['retry']);
  });

  test('before lists, which say the rest', async () => {
    const mixed = { path: 'state', ok: ['done'], failed: ['broken'], retry: cel('item.n > 2'), otherwise: 'failed' };
    expect(await deviants(mixed, { state: 'done', n: 3 }, { state: 'done', n: 1 }, { state: 'other', n: 1 })).toEqual([
      'retry',
      'failed',
    ]);
  });

  test('none is true: otherwise, or unknown', async () => {
    const never = { failed: cel('item.n == 7') };
    expect(await deviants(never, { n: 1 }, { n: 7 }, { n: 1 })).toEqual(['unknown', 'failed', 'unknown']);
    expect(await deviants({ ...never, otherwise: 'ok' }, { n: 1 }, { n: 7 }, { n: 1 })).toEqual(['failed']);
  });

  test.each([
    ["item.error.code == 'x'", 'No such key: error'],
    ['item.n', 'expected an expression that gives true or false, got 1'],
    ['item.n + 1 > 2', 'no such overload'],
  ])('%s cannot be evaluated: the outcome is unknown, whatever otherwise says', async (text, why) => {
    const outcome = await http.call(
      json(
        200,
        [0, 1, 2].map((n) => ({ id: `t${n}`, n: 1 })),
      ),
      {
        response: { matchBy: 'id', status: { failed: cel(text), otherwise: 'ok' } },
      },
    );
    const all = outcome.kind === 'results' ? outcome.deviants : [];
    expect(all).toHaveLength(3);
    for (const one of all)
      expect(one).toMatchObject({ status: 'unknown', error: expect.stringMatching(/response\.status\.failed/) });
    expect(all[0]!.error).toContain(why);
  });
});

describe('of refusals (answers)', () => {
  const answers = {
    later: cel("status == 400 && body.code == 'RATE_LIMITED'"),
    rejected: cel("status == 409 && has(body.code) && body.code == 'INVALID'"),
    halt: cel("has(body.code) && body.code.startsWith('ACCOUNT_')"),
  };
  test.each([
    [json(400, { code: 'RATE_LIMITED' }), 'later'],
    [json(409, { code: 'INVALID' }), 'rejected'],
    [json(500, { code: 'ACCOUNT_CLOSED' }), 'halted'],
    [json(400, { code: 'OTHER' }), 'rejected'],
    [json(409, { code: 'OTHER' }), 'unknown'],
    [raw(409, 'no JSON'), 'unknown'],
    [raw(503, '<html>'), 'later'],
    [raw(401, ''), 'halted'],
    [json(302, { code: 'ACCOUNT_MOVED' }), 'halted'],
  ])('%#: %s', async (answer, kind) => {
    expect(await http.call(answer, { answers })).toMatchObject({ kind });
  });

  test('one that cannot be evaluated: unknown, with the answer and the reason', async () => {
    const outcome = await http.call(raw(400, 'no JSON'), { answers });
    expect(outcome.kind).toBe('unknown');
    expect(errorIn(outcome)).toMatch(/HTTP 400: "no JSON"; answers\.later: cannot be evaluated/);
  });

  test('of a body above 16 KiB nothing is seen but its status', async () => {
    const long = json(400, { code: 'RATE_LIMITED', text: 'x'.repeat(20_000) });
    expect(await http.call(long, { answers: { later: cel('status == 400 && body == null') } })).toMatchObject({
      kind: 'later',
    });
  });

  test('beside lists, which say the rest', async () => {
    const mixed = { later: [418], rejected: cel("has(body.code) && body.code == 'INVALID'") };
    expect(await http.call(json(418, { code: 'INVALID' }), { answers: mixed })).toMatchObject({ kind: 'rejected' });
    expect(await http.call(json(418, {}), { answers: mixed })).toMatchObject({ kind: 'later' });
  });

  test('secrets of the request do not get into the reason', async () => {
    const outcome = await http.call(raw(400, 's3cret-value'), {
      request: { url: `${http.downstream.url}/batch`, headers: { authorization: { env: 'TOKEN' } } },
      answers,
    });
    expect(errorIn(outcome)).not.toContain('s3cret-value');
  });
});

describe('of look-ups', () => {
  const follow = (changes: object) =>
    httpHandler(
      httpConfig(http.downstream.url, {
        accepted: { reference: 'id' },
        resultsUrl: { url: `${http.downstream.url}/jobs/{{reference}}/results` },
        statusUrl: { url: `${http.downstream.url}/jobs/{{reference}}`, ...changes },
      }),
    );
  const poll = async (changes: object, body: unknown) => {
    http.downstream.answer = json(200, body);
    const outcome = await pollReferences(follow(changes), ['j1'], buildContext());
    return outcome.kind === 'statuses' ? outcome.statuses[0] : outcome;
  };
  const statuses = { done: cel('body.finished == body.total'), failed: cel("body.state == 'ABORTED'") };

  test('statusUrl.statuses, without a path of a status', async () => {
    expect(await poll({ statuses }, { finished: 3, total: 3 })).toMatchObject({ status: 'done' });
    expect(await poll({ statuses }, { finished: 1, total: 3, state: 'ABORTED' })).toMatchObject({ status: 'failed' });
    expect(await poll({ statuses }, { finished: 1, total: 3, state: 'RUNS' })).toMatchObject({
      status: 'pending',
      error: expect.stringContaining('by a condition, got { finished: 1'),
    });
    expect(await poll({ statuses, status: 'state' }, { finished: 1, total: 3, state: 'expired' })).toMatchObject({
      status: 'expired',
    });
  });

  test('one that cannot be evaluated: still pending, with the reason', async () => {
    expect(await poll({ statuses }, {})).toMatchObject({
      status: 'pending',
      error: expect.stringContaining('statusUrl.statuses.done: cannot be evaluated: No such key: finished'),
    });
  });

  test('reconcileUrl.statuses', async () => {
    const reconcileUrl = {
      url: `${http.downstream.url}/calls/{{idempotencyKey}}`,
      statuses: { absent: cel('size(body.calls) == 0'), done: cel('body.calls[0].isApplied') },
    };
    const handler = httpHandler(httpConfig(http.downstream.url, { reconcileUrl }));
    const look = async (body: unknown) => {
      http.downstream.answer = json(200, body);
      return await reconcileOutcome(handler, batchOf(1), buildContext(), remember());
    };
    expect(await look({ calls: [] })).toMatchObject({ kind: 'absent' });
    const results = [{ id: 't0', status: 200 }];
    expect(await look({ calls: [{ isApplied: true }], results })).toMatchObject({ kind: 'results' });
    expect(await look({ calls: [{ isApplied: false }], results })).toMatchObject({ kind: 'unsure' });
    expect(await look({ calls: [{}], results })).toMatchObject({ kind: 'unsure' });
  });
});

test('a path is required where lists are, and conditions cannot be certified', () => {
  expect(problems({ response: { matchBy: 'id', status: { ok: ['done'] } } })).toEqual([
    expect.stringMatching(/^response\.status\.path: expected a path such as customer\.id/),
  ]);
  expect(problems({ response: { matchBy: 'id', status: { ok: cel('true'), failed: ['bad'] } } })).toEqual([
    expect.stringMatching(/^response\.status\.path: expected a path/),
  ]);
  expect(problems({ response: { matchBy: 'id', status: {} } })).toEqual([
    expect.stringMatching(/^response\.status\.path: expected a path/),
  ]);
  expect(problems({ answers: { later: cel('status + 1') } })).toEqual([
    expect.stringMatching(/^answers\.later\.cel: expected an expression that gives true or false, got one.* int$/),
  ]);
  expect(problems({ answers: { later: cel('item.x') } })).toEqual([
    expect.stringMatching(/^answers\.later\.cel: .*Unknown variable: item; known here: status, body/),
  ]);
  expect(problems({ answers: { later: cel('status == 400') }, sample: { to: 'a', n: 1 } })).toEqual([
    expect.stringMatching(/^sample: expected none beside conditions in CEL/),
  ]);
});

test('a handler whose keys are in CEL makes calls as any other', async () => {
  http.downstream.answer = json(200, { results: batchOf(3).tasks.map(({ id }) => ({ id, status: 200 })) });
  const handler = httpHandler(httpConfig(http.downstream.url, { target: cel("payload.to + '!'") }));
  expect(await callHandler(handler, batchOf(3), buildContext(), remember())).toEqual({
    kind: 'results',
    deviants: [],
  });
});
