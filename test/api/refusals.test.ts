import { request } from 'node:http';
import type { ApiWorld } from './world';
import { items, openWorld } from './world';

/** Every error in one form (RFC 9457), by its field; the limits and what they answer. */

/** A part of an OpenAPI document. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any
type Json = Record<string, any>;

let world: ApiWorld;
beforeAll(async () => {
  world = await openWorld({ limits: { maxBodyBytes: 200_000 } });
  await world.call('POST /v1/handlers/items/tasks', { body: { tasks: items('a', 'taken') } });
});
afterAll(() => world.stop());

const nobody = '00000000-0000-4000-8000-000000000000';
const submit = 'POST /v1/handlers/items/tasks';
const template = { function_id: 'f', method: 'm' };
const cases: readonly (readonly [
  string,
  string,
  { body?: unknown; raw?: string | Buffer; headers?: Record<string, string> },
  object,
])[] = [
  [
    'not JSON',
    submit,
    { raw: '{"tasks":' },
    { status: 400, type: 'urn:muster:problem:invalid', code: 'INVALID_JSON', errors: [{ field: 'body' }] },
  ],
  ['not UTF-8', submit, { raw: Buffer.from([0x22, 0xff, 0x22]) }, { status: 400, code: 'INVALID_JSON' }],
  ['white space alone', 'POST /v1/fanouts', { raw: '\n' }, { status: 400, code: 'INVALID_JSON' }],
  ['a number for a time', 'GET /v1/errors?since=0.5', {}, { status: 422, errors: [{ field: 'since' }] }],
  ['no body', submit, {}, { status: 400, errors: [{ field: 'body' }] }],
  ['not an object', submit, { body: [] }, { status: 400, errors: [{ field: 'body' }] }],
  ['no tasks', submit, { body: { tasks: [] } }, { status: 400, errors: [{ field: 'tasks' }] }],
  [
    'a field of a task',
    submit,
    { body: { tasks: [...items('a', 'x'), { id: 7, payload: {} }] } },
    { status: 400, errors: [{ field: 'tasks[1].id' }] },
  ],
  [
    'a field that is not there',
    submit,
    { body: { tasks: items('a', 'x'), partal: true } },
    { status: 400, errors: [{ field: 'partal' }] },
  ],
  ['no payload', submit, { body: { tasks: [{ id: 'x' }] } }, { status: 400, errors: [{ field: 'tasks[0].payload' }] }],
  [
    'refused by the handler',
    submit,
    { body: { tasks: [{ id: 'x', payload: { to: '' } }] } },
    { status: 422, type: 'urn:muster:problem:refused', errors: [{ field: '[0].target', id: 'x' }] },
  ],
  [
    'an id that is taken',
    submit,
    { body: { tasks: [{ id: 'taken', payload: { to: 'b' } }] } },
    { status: 409, type: 'urn:muster:problem:id-conflict', code: 'ID_CONFLICT' },
  ],
  [
    'an unknown handler',
    'POST /v1/handlers/itmes/tasks',
    { body: { tasks: items('a', 'x') } },
    { status: 404, code: 'UNKNOWN_HANDLER' },
  ],
  [
    'too many tasks',
    submit,
    { raw: `{"tasks":[${'1,'.repeat(10_000)}1]}` },
    { status: 413, code: 'TOO_MANY_ITEMS', errors: [{ field: 'tasks' }] },
  ],
  [
    'too many ids',
    'POST /v1/tasks:lookup',
    { body: { ids: Array.from({ length: 1_001 }, (_, i) => `${i}`) } },
    { status: 413, code: 'TOO_MANY_ITEMS', errors: [{ field: 'ids' }] },
  ],
  [
    'too large a body',
    submit,
    { raw: ' '.repeat(200_001) },
    { status: 413, code: 'BODY_TOO_LARGE', errors: [{ field: 'body' }] },
  ],
  [
    'too deep',
    submit,
    { raw: `{"tasks":[{"id":"x","payload":${'['.repeat(200)}${']'.repeat(200)}}]}` },
    { status: 422, type: 'urn:muster:problem:too-deep' },
  ],
  [
    'too deep a payload',
    submit,
    { raw: `{"tasks":[{"id":"x","payload":${'['.repeat(101)}${']'.repeat(101)}}]}` },
    { status: 422, type: 'urn:muster:problem:refused', errors: [{ field: '[0].payload', id: 'x' }] },
  ],
  [
    'a number that would lose digits',
    submit,
    { raw: '{"tasks":[{"id":"x","payload":{"to":"a","ns":[1,9007199254740993]}}]}' },
    { status: 400, code: 'LOSSY_NUMBER', errors: [{ field: 'tasks[0].payload.ns[1]' }] },
  ],
  ['another media type', submit, { raw: 'tasks=1', headers: { 'content-type': 'text/plain' } }, { status: 415 }],
  [
    'an unknown task',
    'GET /v1/tasks/nobody',
    {},
    { status: 404, type: 'urn:muster:problem:not-found', code: 'NOT_FOUND' },
  ],
  ['an unknown query', 'GET /v1/tasks/taken?wiat=1', {}, { status: 400, errors: [{ field: 'wiat' }] }],
  ['a number that is none', 'GET /v1/tasks/taken?wait=soon', {}, { status: 400, errors: [{ field: 'wait' }] }],
  ['too long a wait', 'GET /v1/tasks/taken?wait=61', {}, { status: 400, errors: [{ field: 'wait' }] }],
  ['too large a page', 'GET /v1/handlers/items/targets?limit=1001', {}, { status: 400, errors: [{ field: 'limit' }] }],
  ['another method', 'DELETE /v1/tasks/taken', {}, { status: 405 }],
  ['another path', 'GET /v2/tasks', {}, { status: 404 }],
  ['a path that cannot be decoded', 'GET /v1/tasks/%zz', {}, { status: 400, code: 'INVALID_REQUEST' }],
  ['too long a part of a path', `GET /v1/tasks/${'x'.repeat(7_000)}`, {}, { status: 404 }],
  ['a batch that is no number', 'GET /v1/batches/x', {}, { status: 400, errors: [{ field: 'batch' }] }],
  ['an unknown batch', 'GET /v1/batches/999999', {}, { status: 404 }],
  ['D15: seal of an unknown fan-out', `POST /v1/fanouts/${nobody}/seal`, {}, { status: 404, code: 'NOT_FOUND' }],
  ['D15: add to an unknown fan-out', `POST /v1/fanouts/${nobody}/items`, { body: { items: 1 } }, { status: 404 }],
  ['D15: an unknown fan-out', `GET /v1/fanouts/${nobody}`, {}, { status: 404 }],
  [
    'D15: no items',
    `POST /v1/fanouts/${nobody}/items`,
    { body: { items: 0 } },
    { status: 400, errors: [{ field: 'items' }] },
  ],
  [
    'D15: an id that is none',
    'POST /v1/items:ack',
    { body: { items: ['x:1'] } },
    { status: 422, code: 'INVALID_ITEM', errors: [{ field: 'items', id: 'x:1', code: 'MALFORMED_ID' }] },
  ],
  [
    'D15: an item of an unknown fan-out',
    'POST /v1/items:ack',
    { body: { items: [`${nobody}:0:0`] } },
    { status: 422, errors: [{ code: 'UNKNOWN_FANOUT' }] },
  ],
  [
    'E1: empty arguments',
    'POST /v1/executions',
    { body: { template, arguments: [] } },
    { status: 400, errors: [{ field: 'arguments' }] },
  ],
  [
    'E1: no function_id',
    'POST /v1/executions',
    { body: { template: { method: 'm' }, arguments: [['a']] } },
    { status: 400, errors: [{ field: 'template.function_id' }] },
  ],
  [
    'E3: no node asked for',
    'POST /v1/executions',
    {
      body: { template: { function_id: 'f', method: 'm', config: { number_of_nodes: 0 } }, arguments: [['a']] },
    },
    {
      status: 400,
      errors: [
        {
          field: 'template.config.number_of_nodes',
          message: 'expected -1 (every node that answers) or a whole number from 1 to 10,000',
        },
      ],
    },
  ],
  [
    'E1: no method',
    'POST /v1/executions',
    { body: { template: { function_id: 'f' }, arguments: [['a']] } },
    { status: 400, errors: [{ field: 'template.method' }] },
  ],
  [
    'E1: a number among the arguments',
    'POST /v1/executions',
    { body: { template, arguments: [['a'], ['b', 1]] } },
    { status: 400, errors: [{ field: 'arguments[1][1]' }] },
  ],
  ['E2: an unknown execution', `GET /v1/executions/${nobody}`, {}, { status: 404 }],
  ['E2: results of an unknown execution', `GET /v1/executions/${nobody}/results`, {}, { status: 404 }],
  ['E2: cancel of an unknown execution', `POST /v1/executions/${nobody}/cancel`, {}, { status: 404 }],
  ['E2: an id that is none', 'GET /v1/executions/17', {}, { status: 400, errors: [{ field: 'execution' }] }],
  ['a lane that is not there', 'GET /v1/lanes/nobody', {}, { status: 404 }],
];

test.each(cases)('HTTP API: problem details: %s', async (_what, route, options, expected) => {
  const answer = await world.call(route, options);
  expect(answer.type).toBe('application/problem+json');
  const { errors, ...rest } = expected as { status: number; errors?: object[] };
  expect(answer.status).toBe(rest.status);
  expect(answer.body).toMatchObject(rest);
  expect(answer.body).toMatchObject({
    type: expect.stringMatching(/^urn:muster:problem:/),
    title: expect.any(String),
    detail: expect.any(String),
    code: expect.any(String),
  });
  for (const error of errors ?? []) expect(answer.body.errors).toContainEqual(expect.objectContaining(error));
});

test('each operation documents the codes of its 400, and answers each of them', async () => {
  const { paths } = (await world.call('GET /openapi.json')).body as { paths: Record<string, Record<string, Json>> };
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
  );
  expect(operations.length).toBeGreaterThan(50);
  for (const { path, method, operation } of operations) {
    const route = `${method} ${path.replaceAll(/\{\w+\}/g, '1')}`;
    const schema = operation.responses['400']?.content['application/problem+json'].schema;
    const documented: string[] = schema?.allOf[1].properties.code.enum ?? [];
    const undecodable = `${method} ${path.replaceAll(/\{\w+\}/g, '%zz')}?nothing=1`;
    const answers =
      method === 'GET'
        ? [await world.call(documented.length === 0 ? route : undecodable)]
        : [
            await world.call(route, { headers: { 'dry-run': 'perhaps' } }),
            await world.call(route, { raw: '{' }),
            await world.call(route, { raw: '{"a":1e400}' }),
          ];
    const codes = new Set(answers.flatMap(({ status, body }) => (status === 400 ? [body.code as string] : [])));
    expect([route, [...codes].sort()]).toEqual([route, [...documented].sort()]);
  }
});

test('405 says what is allowed, also to HEAD, which only reads and has no content type', async () => {
  expect((await world.call('DELETE /v1/fanouts/x')).headers.get('allow')).toBe('GET');
  const { status, headers } = await fetch(`${world.api.url}/v1/fanouts/x`, { method: 'HEAD' });
  expect([status, headers.get('allow')]).toEqual([405, 'GET']);
});

test('maxQueued: 429 with Retry-After, nothing accepted [G14]', async () => {
  const answer = await world.call('POST /v1/handlers/narrow/tasks', {
    body: { tasks: items('n', '1', '2', '3', '4') },
  });
  expect(answer).toMatchObject({ status: 429, body: { code: 'BACKLOGGED', limit: 3, depth: 0 } });
  expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
  expect((await world.call('GET /v1/tasks/1')).status).toBe(404);
});

test('partial: the good ones are accepted, the others answered by place', async () => {
  const tasks = [...items('p', 'good'), { id: 'taken', payload: { to: 'other' } }];
  expect((await world.call(submit, { body: { tasks, partial: true } })).body).toEqual({
    accepted: 1,
    repeated: 0,
    refused: [expect.objectContaining({ index: 1, id: 'taken', code: 'ID_CONFLICT' })],
  });
});

test('of thousands of wrong tasks and names a hundred are named, and the others counted', async () => {
  const wrong = { body: { tasks: Array.from({ length: 5_000 }, (_, n) => ({ id: `w${n}`, payload: { to: '' } })) } };
  const own = await openWorld();
  const refused = (await own.call(submit, wrong)).body;
  expect([refused.errors.length, refused.errorsOmitted]).toEqual([100, 4_900]);
  const tasks = Array.from({ length: 5_000 }, (_, n) => ({ id: n, payload: 1 }));
  const invalid = (await own.call(submit, { body: { tasks } })).body;
  expect([invalid.status, invalid.errors.length]).toEqual([400, 100]);
  const names = Object.fromEntries(Array.from({ length: 5_000 }, (_, n) => [`${'n'.repeat(500)}${n}`, 0]));
  const unknown = (await own.call(submit, { body: { tasks: items('a', 'x'), ...names } })).body;
  expect([unknown.errors.length, unknown.errorsOmitted]).toEqual([100, 4_900]);
  expect(JSON.stringify(unknown).length).toBeLessThan(50_000);
  await own.stop();
});

test('more lists than one request takes: 413 [E13]', async () => {
  const own = await openWorld({ limits: { maxBodyBytes: 16_777_216 } });
  const raw = `{"template":{"function_id":"f","method":"m"},"arguments":[${'[],'.repeat(1_000_000)}[]]}`;
  expect(await own.call('POST /v1/executions', { raw })).toMatchObject({
    status: 413,
    body: { code: 'TOO_MANY_ITEMS', errors: [{ field: 'arguments' }] },
  });
  await own.stop();
});

test('a sender that announces too much is answered before it has sent it', async () => {
  const answer = await new Promise<number>((resolve, reject) => {
    const sending = request(`${world.api.url}/v1/items:ack`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'content-length': '9000000000' },
    });
    sending.on('response', (response) => {
      resolve(response.statusCode!);
      sending.destroy();
    });
    sending.on('error', reject);
    sending.write('{');
  });
  expect(answer).toBe(413);
});
