import { httpHandler } from '../../../handlers';
import { buildBatch, problemsIn } from '../build';
import { httpConfig } from './httpConfig';

const url = 'https://api.example.com';
const problems = (changes: Record<string, unknown>, env = {}) =>
  problemsIn(() => httpHandler(httpConfig(url, changes), { env }));
const request = (changes: Record<string, unknown>) => ({ request: { url: `${url}/batch`, ...changes } });
const response = (changes: Record<string, unknown>) => ({ response: { matchBy: 'id', ...changes } });

describe('every problem at once (H10)', () => {
  test('of shapes, paths, templates, secrets and pairs of settings, each with its path', () => {
    const config = {
      kind: 'http',
      name: 'orders',
      target: 'customer..id',
      limits: { maxItems: 10, minItems: 20 },
      weight: 'a[0]',
      idempotency: { by: 'task' },
      request: {
        url: 'ftp://api.example.com/{{targt}}',
        method: 'GET',
        headers: { Authorization: 'Bearer s3cret', 'X-Api-Key': { env: 'API_KEY' }, Accept: { evn: 'X' } },
        item: { a: '{{payload.x', b: '{{paylod.y}}', c: '{{target.z}}' },
        envelope: { batch: '{{itemz}}' },
        body: 'x',
      },
      response: { results: 'a..b', status: { path: 'status', ok: ['2xx'], failed: ['2XX'] } },
      answers: { later: [200] },
      statusUrl: { url: `${url}/jobs`, status: 'state' },
      maxResponseBytes: 0,
    };
    const found = problemsIn(() => httpHandler(config));
    const starts = [
      'target: expected names with single dots',
      'limits.minItems: expected at most limits.maxItems (10), got 20',
      'weight: expected array places between dots (items.0.id), got brackets',
      "request.item: expected {{id}} in it, got none: with idempotency by 'task'",
      'request.url: expected an absolute http:// or https:// URL',
      'request.url: expected one of {{target}}, {{batchId}}, got {{targt}}; did you mean "target"?',
      "request.method: expected 'POST' or 'PUT' or 'PATCH' or 'DELETE', got \"GET\"",
      'request.headers.Authorization: expected {"env": "NAME"} or {"env": "NAME", "prefix": "Bearer "}, got plain text',
      'request.headers.X-Api-Key.env: expected the environment variable API_KEY to be set, got none',
      'request.headers.Accept.evn: unknown setting; did you mean "env"?',
      'request.headers.Accept.env: expected the name of an environment variable',
      'request.item.a: expected {{name}} to be closed, got "{{payload.x"',
      'request.item.b: expected one of {{id}}, {{payload}}, {{target}}, {{index}}, got {{paylod.y}}; did you mean "payload"?',
      'request.item.c: expected {{target}} without a path, got {{target.z}}',
      'request.envelope.batch: expected one of',
      'request.envelope: expected "{{items}}" as a whole value in it, got none',
      'request.body: unknown setting',
      'response.matchBy: expected',
      'response.results: expected names with single dots',
      'response.status.failed: expected each status under one name, got 2xx under ok too',
      'answers.later.0: expected an HTTP status from 400 to 599',
      'statusUrl.url: expected {{reference}} in it',
      'statusUrl: expected resultsUrl beside it',
      'statusUrl: expected accepted beside it',
      'maxResponseBytes: expected a whole number of bytes from 1 to',
    ];
    for (const start of starts) expect(found).toContainEqual(expect.stringContaining(start));
    expect(found).toHaveLength(starts.length);
    expect(found.join('\n')).not.toContain('s3cret');
  });

  test.each([undefined, null, 5, 'http', []])('%j instead of a configuration', (json) => {
    expect(problemsIn(() => httpHandler(json))[0]).toMatch(/^: expected an object, got/);
  });

  test.each([
    [{ kind: 'https' }, 'kind: expected \'http\', got "https"'],
    [{ target: undefined }, 'target: expected a path'],
    [{ target: '{{payload.to}}' }, 'target: expected a path inside the payload such as customer.id, got a template'],
    [{ target: { constant: '' } }, 'target.constant: expected text of 1-512 bytes'],
    [{ target: '/a~b' }, 'target: expected ~ in a JSON pointer'],
    [{ target: '*.id' }, 'target: expected a name, got *'],
    [{ response: undefined }, 'response: expected an object, got nothing'],
    [response({ decode: 'ndjson', results: 'items' }), 'response.results: expected none with decode'],
    [response({ result: true }), 'response.result: expected a path, or false'],
    [response({ status: { ok: [] } }), 'response.status.path: expected a path'],
    [response({ status: { path: 's', otherwise: 'maybe' } }), 'response.status.otherwise: expected'],
    [request({ encode: 'ndjson', envelope: { items: '{{items}}' } }), 'request.envelope: expected none with encode'],
    [request({ encode: 'ndjson', item: [] }), 'request.item: expected at least one line'],
    [request({ item: { '{{id}}': 1 } }), 'request.item.{{id}}: expected {{...}} in values only'],
    [request({ item: '{{payload.}}' }), 'request.item: {{payload.}}: expected a name after the dot'],
    [request({ item: '{{customer.id}}' }), 'a field of the payload is written {{payload.field}}'],
    [
      request({ headers: ['x'] }),
      'request.headers: expected an object of header names and values, got a value of type object',
    ],
    [request({ headers: { 'bad name': 'x' } }), 'request.headers.bad name: expected a header name'],
    [
      request({ headers: { 'x-a': 'one\r\nx-b: two' } }),
      'request.headers.x-a: expected a header value without line breaks',
    ],
    [request({ headers: { 'x-a': '{{target}}' } }), 'headers are not templates'],
    [
      request({ headers: { 'x-a': 5 } }),
      'request.headers.x-a: expected text or {"env": "NAME"}, got a value of type number',
    ],
    [request({ headers: { 'X-A': '1', 'x-a': '2' } }), 'request.headers.x-a: expected each header once'],
    [request({ headers: { 'Content-Length': '5' } }), 'request.headers.Content-Length: expected no such header'],
    [
      request({ headers: { 'idempotency-key': '5' } }),
      'request.headers.idempotency-key: expected no such header: Muster writes',
    ],
    [{ poll: { everyMs: 5 } }, 'poll: expected statusUrl beside it'],
    [{ cancelUrl: { url: `${url}/{{reference}}` } }, 'cancelUrl: expected accepted beside it'],
    [{ absentAfterMs: 5 }, 'absentAfterMs: expected reconcileUrl beside it'],
    [
      { lane: { dependencies: 'downstream' }, accepted: { reference: 'id' } },
      "request.envelope: expected {{dependsOn}} in it with lane.dependencies 'downstream', got none",
    ],
    [
      { lane: { dependencies: 'downstream' }, ...request({ envelope: { ids: '{{items}}', after: '{{dependsOn}}' } }) },
      "lane.dependencies: expected accepted beside 'downstream', got nothing",
    ],
    [
      request({ envelope: { ids: '{{items}}', after: '{{dependsOn}}' } }),
      "request.envelope: expected lane.dependencies 'downstream' with {{dependsOn}}, got 'held'",
    ],
    [{ lane: { dependencies: 'theirs' } }, "lane.dependencies: expected 'held'"],
    [
      { reconcileUrl: { url: `${url}/{{target}}` } },
      'reconcileUrl.url: expected {{idempotencyKey}} or {{batchId}} in it',
    ],
    [
      { reconcileUrl: { url: `${url}/{{batchId}}`, statuses: { done: ['ok'] } } },
      'reconcileUrl.statuses: expected status',
    ],
    [
      { accepted: { status: 302, reference: 'id' } },
      'accepted.status: expected a whole number of HTTP from 200 to 299',
    ],
  ])('%j', (changes, problem) => {
    const found = problems(changes);
    expect(found).toEqual([expect.stringContaining(problem)]);
  });

  test.each([
    ['Authorization'],
    ['proxy-authorization'],
    ['Cookie'],
    ['X-API-Key'],
    ['api-key'],
    ['apikey'],
    ['X-Auth-Token'],
    ['x-access-token'],
    ['X-Amz-Security-Token'],
    ['Ocp-Apim-Subscription-Key'],
    ['x-functions-key'],
    ['X-Vault-Token'],
    ['client-secret'],
    ['x-password'],
    ['PRIVATE-TOKEN'],
  ])('a plain %s is refused, telling of {env}, without repeating it', (name) => {
    const found = problems(request({ headers: { [name]: 'hunter2hunter2' } }));
    expect(found).toEqual([expect.stringContaining('secrets come from the environment only')]);
    expect(found[0]).not.toContain('hunter2');
    expect(problems(request({ headers: { [name]: { env: 'SECRET' } } }), { SECRET: 'x' })).toEqual([]);
  });

  test.each([
    ['', 'an empty one'],
    ['p4ss\n', 'one line of Latin-1 text'],
    ['snow ☃', 'one line of Latin-1 text'],
  ])('an environment variable that holds %j is refused without showing it', (value, problem) => {
    const found = problems(request({ headers: { authorization: { env: 'TOKEN', prefix: 'Bearer ' } } }), {
      TOKEN: value,
    });
    expect(found).toEqual([expect.stringContaining(problem)]);
    expect(found[0]).toContain('TOKEN');
    if (value !== '') expect(found[0]).not.toContain(value.trim());
  });
});

describe('URLs', () => {
  test.each([
    ['not a url', 'expected an absolute'],
    ['/relative', 'expected an absolute'],
    ['file:///etc/passwd', 'expected an absolute'],
    ['https://{{target}}.example.com/x', 'expected a fixed host'],
    ['https://{{target}}/x', 'expected a fixed host'],
    ['https://example.com{{target}}/x', 'expected a fixed host'],
    ['https://example.com:80{{target}}/x', 'expected an absolute'],
    ['https://user:pw@example.com/x', 'expected no user or password'],
    ['https://example.com/x?api_key=abc', 'expected no secret in the URL, got the parameter "api_key"'],
    ['https://example.com/a/../b', 'without . and .. segments'],
  ])('%s is refused', (bad, problem) => {
    const found = problems({ request: { url: bad } });
    expect(found).toEqual([expect.stringContaining(problem)]);
    expect(found[0]).not.toMatch(/user:pw|abc/);
  });
});

describe('preview (H11)', () => {
  test('is the call as it would be made, with no secret and no key', () => {
    const handler = httpHandler(
      httpConfig(url, {
        idempotency: { by: 'batch' },
        request: {
          url: `${url}/{{target}}/batch?b={{batchId}}`,
          headers: { Authorization: { env: 'TOKEN', prefix: 'Bearer ' }, 'X-Version': '2' },
          item: { id: '{{id}}', n: '{{payload.n}}' },
          envelope: { key: '{{idempotencyKey}}', size: '{{count}}', items: '{{items}}' },
        },
      }),
      { env: { TOKEN: 's3cret' } },
    );
    expect(handler.preview?.(buildBatch([{ n: 1 }, { n: 2 }], 'a/b ü'))).toEqual({
      method: 'POST',
      url: `${url}/a%2Fb%20%C3%BC/batch?b=batch-1`,
      headers: {
        accept: 'application/json',
        'user-agent': 'muster',
        'content-type': 'application/json',
        authorization: 'Bearer <TOKEN>',
        'x-version': '2',
        'idempotency-key': '<idempotency key>',
      },
      body: '{"key":"<idempotency key>","size":2,"items":[{"id":"t0","n":1},{"id":"t1","n":2}]}',
    });
  });
});
