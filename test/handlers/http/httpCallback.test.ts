import { callHandler, httpHandler } from '../../../handlers';
import { buildContext, remember } from '../build';
import { json } from '../downstream';
import { httpConfig } from './httpConfig';
import { batch, httpCaller } from './httpCaller';

/** H7: the URL for the completion in a call from JSON, and who never sees it. */

const http = httpCaller();
const token = 'tOkEn-of-the-batch_0123456789';
const callbackUrl = `https://muster.example.com/callbacks/7/${token}`;
const context = () => buildContext({ callbackUrl });
const request = (envelope: object) => ({ request: { url: `${http.downstream.url}/batch`, item: '{{id}}', envelope } });
const accepted = { reference: 'job', status: 202 };

test('{{callbackUrl}} in the envelope, callbackHeader in a header [H7 H10]', async () => {
  const config = {
    ...request({ ids: '{{items}}', webhook: { url: '{{callbackUrl}}' } }),
    callbackHeader: 'X-Callback',
    accepted,
  };
  expect(await http.call(json(202, { job: 'j-1' }), config, context())).toEqual({ kind: 'accepted', reference: 'j-1' });
  const [seen] = http.downstream.seen;
  expect(JSON.parse(seen!.body)).toEqual({ ids: ['t0', 't1', 't2'], webhook: { url: callbackUrl } });
  expect(seen!.headers['x-callback']).toBe(callbackUrl);
});

test('where there is no URL nothing is sent and the handler is paused; {{callbackUrl?}} goes without [H7]', async () => {
  const needs = { ...request({ ids: '{{items}}', callback: '{{callbackUrl}}' }), accepted };
  const halted = { kind: 'halted', error: expect.stringMatching(/not sent.*--callback-port or MUSTER_CALLBACK_URL/) };
  expect(await http.call(json(202, { job: 'j' }), needs)).toEqual(halted);
  expect(await http.call(json(202, { job: 'j' }), { callbackHeader: 'X-Callback', accepted })).toEqual(halted);
  expect(http.downstream.seen).toEqual([]);
  const may = { ...request({ ids: '{{items}}', callback: '{{callbackUrl?}}' }), accepted };
  expect(await http.call(json(202, { job: 'j' }), may)).toMatchObject({ kind: 'accepted' });
  expect(JSON.parse(http.downstream.seen[0]!.body)).toEqual({ ids: ['t0', 't1', 't2'] });
});

test('{{dependsOn}} in the envelope is what the downstream calls the batches that a batch depends on', async () => {
  const config = {
    ...request({ ids: '{{items}}', after: '{{dependsOn}}' }),
    lane: { dependencies: 'downstream' },
    accepted,
  };
  const dependsOn = [
    { batch: '3', reference: 'j-3', committed: false },
    { batch: '4', reference: null, committed: true },
    { batch: '5', reference: 'j-5', committed: true },
  ];
  const handler = httpHandler(httpConfig(http.downstream.url, config));
  http.downstream.answer = json(202, { job: 'j-6' });
  for (const one of [{ ...batch, dependsOn }, batch]) await callHandler(handler, one, context(), remember());
  expect(http.downstream.seen.map(({ body }) => (JSON.parse(body) as { after: string[] }).after)).toEqual([
    ['j-3', 'j-5'],
    [],
  ]);
});

test('a downstream that echoes the URL does not get its token into an error that is kept', async () => {
  const config = { ...request({ ids: '{{items}}', callback: '{{callbackUrl}}' }), accepted };
  for (const status of [400, 500, 503]) {
    const outcome = await http.call(json(status, { error: `cannot reach ${callbackUrl}` }), config, context());
    expect(JSON.stringify(outcome)).toContain('<token>');
    expect(JSON.stringify(outcome)).not.toContain(token);
  }
  const results = [
    { id: 't0', status: 'failed', error: callbackUrl },
    { id: 't1', status: 'ok' },
    { id: 't2', status: 'ok' },
  ];
  expect(JSON.stringify(await http.call(json(200, { results }), config, context()))).not.toContain(token);
  const thrower = {
    ...httpHandler(httpConfig(http.downstream.url)),
    submit: () => Promise.reject(new Error(callbackUrl)),
  };
  expect(JSON.stringify(await callHandler(thrower, batch, context(), remember()))).not.toContain(token);
});

test('wrong settings are named; a deadline needs no status call, an interval does [H10]', () => {
  const problems = (changes: object): unknown => {
    try {
      httpHandler(httpConfig('http://127.0.0.1', changes as Record<string, unknown>));
      return [];
    } catch (error) {
      return (error as { problems: { path: string }[] }).problems.map(({ path }) => path);
    }
  };
  expect(problems({ callbackHeader: 'no good' })).toEqual(['callbackHeader']);
  expect(
    problems({ callbackHeader: 'Idempotency', idempotencyHeader: 'idempotency', idempotency: { by: 'batch' } }),
  ).toEqual(['callbackHeader']);
  expect(problems({ accepted: { reference: 'job' }, poll: { deadlineMs: 60_000 } })).toEqual([]);
  expect(problems({ accepted: { reference: 'job' }, poll: { everyMs: 60_000 } })).toEqual(['poll']);
});

test('the preview shows a placeholder [H11]', () => {
  const handler = httpHandler(httpConfig('http://127.0.0.1', { callbackHeader: 'X-Callback', accepted }));
  expect(handler.preview!(batch).headers).toMatchObject({ 'x-callback': '<callback URL>' });
});
