import { errorIn } from '../build';
import type { Answer } from '../downstream';
import { json, raw } from '../downstream';
import { httpCaller } from './httpCaller';

const http = httpCaller();

describe('other statuses (table of handlers.md, H4, H5)', () => {
  test.each([
    [400, 'rejected'],
    [413, 'rejected'],
    [422, 'rejected'],
    [401, 'halted'],
    [403, 'halted'],
    [404, 'halted'],
    [402, 'halted'],
    [405, 'halted'],
    [410, 'halted'],
    [415, 'halted'],
    [418, 'halted'],
    [501, 'halted'],
    [425, 'later'],
    [429, 'later'],
    [503, 'later'],
    [408, 'unknown'],
    [409, 'unknown'],
    [500, 'unknown'],
    [502, 'unknown'],
    [504, 'unknown'],
    [599, 'unknown'],
    [301, 'halted'],
    [302, 'halted'],
    [303, 'halted'],
    [307, 'halted'],
    [308, 'halted'],
  ])('%i: %s, with what the body says', async (status, kind) => {
    const outcome = await http.call(
      json(status, { message: 'because' }, status < 400 ? { location: `${http.downstream.url}/elsewhere` } : {}),
    );
    expect(outcome.kind).toBe(kind);
    expect(errorIn(outcome)).toContain(`HTTP ${status}`);
    expect(errorIn(outcome)).toContain('because');
    expect(http.downstream.seen).toHaveLength(1);
  });

  describe('where the target stands in the URL, a caller chose it', () => {
    const request = () => ({ url: `${http.downstream.url}/{{target}}/_bulk` });
    test.each([
      [404, { kind: 'rejected' }],
      [410, { kind: 'rejected' }],
      [414, { kind: 'rejected' }],
      [400, { kind: 'rejected' }],
      [405, { kind: 'halted', scope: 'target' }],
      [451, { kind: 'halted', scope: 'target' }],
      [301, { kind: 'halted', scope: 'target' }],
      [308, { kind: 'halted', scope: 'target' }],
      [401, { kind: 'halted' }],
      [403, { kind: 'halted' }],
      [407, { kind: 'halted' }],
      [501, { kind: 'halted' }],
      [409, { kind: 'unknown' }],
      [503, { kind: 'later' }],
    ])('%i: %j', async (status, outcome) => {
      const { kind, ...rest } = (await http.call(json(status, {}), { request: request() })) as {
        kind: string;
        scope?: string;
      };
      expect({ kind, ...(rest.scope === undefined ? {} : { scope: rest.scope }) }).toEqual(
        kind === 'later' ? { ...outcome, scope: 'target' } : outcome,
      );
    });
    test('answers takes precedence, and means the handler', async () => {
      const answers = { halt: [404], unknown: [410] };
      const halted = await http.call(json(404, {}), { request: request(), answers });
      expect(halted).toMatchObject({ kind: 'halted' });
      expect(halted).not.toHaveProperty('scope');
      expect((await http.call(json(410, {}), { request: request(), answers })).kind).toBe('unknown');
    });
    test('with the number of the batch alone, a 404 is about the URL: the handler halts', async () => {
      const own = { url: `${http.downstream.url}/{{batchId}}/_bulk` };
      const halted = await http.call(json(404, {}), { request: own });
      expect(halted).toMatchObject({ kind: 'halted' });
      expect(halted).not.toHaveProperty('scope');
    });
  });

  test('a redirect says where it led and that it was not followed', async () => {
    const outcome = await http.call(raw(302, '', { location: '/elsewhere' }));
    expect(errorIn(outcome)).toContain('HTTP 302 to "/elsewhere": redirects are not followed');
    expect(http.downstream.seen).toHaveLength(1);
  });

  test('answers chooses otherwise, exact statuses over classes', async () => {
    const answers = { later: ['5xx'], unknown: [503], rejected: [404], halt: [422] };
    const kinds: string[] = [];
    for (const status of [500, 503, 404, 422, 400]) kinds.push((await http.call(json(status, {}), { answers })).kind);
    expect(kinds).toEqual(['later', 'unknown', 'rejected', 'halted', 'rejected']);
  });

  test('an echoed secret is cut out of the evidence', async () => {
    const headers = { authorization: { env: 'TOKEN', prefix: 'Bearer ' } };
    const request = { url: `${http.downstream.url}/x`, headers };
    for (const status of [200, 401, 500]) {
      const error = errorIn(await http.call(raw(status, 'bad token s3cret-value!'), { request }));
      expect(error).toContain('bad token <secret>!');
      expect(error).not.toContain('s3cret-value');
    }
  });

  test('a 429 whose body never ends is still a 429', async () => {
    const endless: Answer = (response) => {
      response.writeHead(429, { 'retry-after': '3' });
      response.write('wait');
    };
    expect(await http.call(endless)).toMatchObject({ kind: 'later', retryAfterMs: 3_000 });
  });
});

describe('Retry-After (H5)', () => {
  const date = 'Sun, 06 Nov 1994 08:49:30 GMT';
  test.each([
    ['seconds', { 'retry-after': '7' }, 7_000],
    ['a date, from the answer’s own clock', { date, 'retry-after': 'Sun, 06 Nov 1994 08:49:37 GMT' }, 7_000],
    ['an RFC 850 date', { date, 'retry-after': 'Sunday, 06-Nov-94 08:49:37 GMT' }, 7_000],
    ['an asctime date', { date, 'retry-after': 'Sun Nov  6 08:49:37 1994' }, 7_000],
    ['a date that is past', { date, 'retry-after': 'Sun, 06 Nov 1994 08:49:00 GMT' }, 0],
    ['milliseconds', { 'retry-after-ms': '1250', 'retry-after': '2' }, 1_250],
    ['zero', { 'retry-after': '0' }, 0],
    ['more than a day', { 'retry-after': '999999999' }, 86_400_000],
    ['nothing', {}, undefined],
    ['nonsense', { 'retry-after': 'soon' }, undefined],
    ['a negative number', { 'retry-after': '-5' }, undefined],
    ['a date without a zone', { 'retry-after': '1994-11-06 08:49:37' }, undefined],
  ])('%s', async (_, headers, retryAfterMs) => {
    for (const status of [429, 503]) {
      const outcome = await http.call(json(status, {}, headers));
      expect(outcome).toMatchObject({ kind: 'later', scope: 'target' });
      expect(outcome.kind === 'later' && outcome.retryAfterMs).toBe(retryAfterMs);
    }
  });

  test('a future date without the answer’s own', async () => {
    const at = new Date(Date.now() + 60_000).toUTCString();
    const outcome = await http.call((response) => {
      response.sendDate = false;
      response.writeHead(429, { 'retry-after': at }).end();
    });
    const waits = outcome.kind === 'later' ? outcome.retryAfterMs! : NaN;
    expect(waits).toBeGreaterThan(50_000);
    expect(waits).toBeLessThanOrEqual(60_000);
  });

  test('the scope is a setting', async () => {
    expect(await http.call(json(429, {}), { scopes: { refused: 'handler' } })).toMatchObject({
      kind: 'later',
      scope: 'handler',
    });
  });
});
