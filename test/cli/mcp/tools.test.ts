import { Ajv2020 } from 'ajv/dist/2020';
import { requestOf } from '../../../client/cli/mcp/request';
import type { ApiDocument, Tool } from '../../../client/cli/mcp/tool';
import { toolsOf } from '../../../client/cli/mcp/tool';
import { openApi } from '../../../workers/api/openapi';
import { allRoutes } from '../../../workers/api/routes';

/** The tools of `muster mcp`, made from the API's own document. */

const unused = (): never => {
  throw new Error('only the documents of the routes are read');
};
const routes = allRoutes({ stopping: new AbortController().signal, metrics: unused, document: unused });
const document = openApi(routes, '1.2.3') as unknown as ApiDocument;
const all = toolsOf(document, null, { readOnly: false });
const tool = (name: string): Tool => all.find((one) => one.name === name)!;

test('each operation is a tool, but streams, sessions, and what is open to all', () => {
  const left = routes.filter(
    ({ stream = 'application/json', scope, id }) =>
      stream.startsWith('application/json') && scope !== 'open' && !/(begin|end)Session/.test(id),
  );
  expect(all.map(({ name }) => name).sort()).toEqual(left.map(({ id }) => id).sort());
  expect(all.length).toBeGreaterThan(60);
});

test('every schema of arguments stands alone, and compiles', () => {
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  for (const { name, inputSchema } of all) {
    expect([name, JSON.stringify(inputSchema).includes('#/components/')]).toEqual([name, false]);
    expect([name, typeof ajv.compile(inputSchema)]).toEqual([name, 'function']);
  }
  const accepts = ajv.compile(tool('submitTasks').inputSchema);
  expect(accepts({ handler: 'orders', body: { tasks: [{ id: '1', payload: {} }] } })).toBe(true);
  expect(accepts({ handler: 'orders', body: { tasks: [{ id: 1, payload: {} }] } })).toBe(false);
  expect(accepts({ body: { tasks: [{ id: '1', payload: {} }] } })).toBe(false);
});

test('only what the scopes allow is listed, and with --read-only no change', () => {
  const reading = toolsOf(document, new Set(['read']), { readOnly: false }).map(({ name }) => name);
  expect(reading).toContain('explainTask');
  expect(reading).toContain('lookUpTasks');
  for (const name of ['submitTasks', 'pauseHandler', 'setQueuers', 'listAudit']) expect(reading).not.toContain(name);
  const readOnly = toolsOf(document, new Set(['admin']), { readOnly: true });
  expect(readOnly.filter(({ isChange }) => isChange)).toEqual([]);
  expect(readOnly.map(({ name }) => name)).toContain('listAudit');
  expect(toolsOf(document, new Set(['admin']), { readOnly: false })).toEqual(all);
});

test.each(['.', '..'])('a name %s, of which no URL can be made, is refused: another path would be asked', (target) => {
  const call = (): unknown => requestOf(tool('pauseTarget'), { handler: 'orders', target, dryRun: false });
  expect(call).toThrow('Cannot call pauseTarget: no URL can have a name . or .. in it. Use the command line');
});

test('a change is a dry run unless dryRun is false', () => {
  const pause = (more: object) => requestOf(tool('pauseTarget'), { handler: 'orders', target: 'a/b ü', ...more });
  expect(pause({})).toEqual({
    method: 'POST',
    path: '/v1/handlers/orders/targets/a%2Fb%20%C3%BC/pause',
    headers: { 'content-type': 'application/json', 'dry-run': 'true' },
    body: '{}',
  });
  expect(pause({ dryRun: true }).headers['dry-run']).toBe('true');
  expect(pause({ dryRun: false, idempotencyKey: 'k', body: { reason: 'r' } })).toMatchObject({
    headers: { 'dry-run': 'false', 'idempotency-key': 'k' },
    body: '{"reason":"r"}',
  });
  expect(() => pause({ dryRun: 'false' })).toThrow('dryRun: expected true or false, got "false"');
});

test('a read sends its query, and no header of a change', () => {
  expect(requestOf(tool('listTasks'), { handler: 'orders', state: 'failed', limit: 7 })).toEqual({
    method: 'GET',
    path: '/v1/handlers/orders/tasks?state=failed&limit=7',
    headers: {},
  });
  expect(requestOf(tool('lookUpTasks'), { body: { ids: ['1'] } }).headers).toEqual({
    'content-type': 'application/json',
  });
});

test('arguments that are unknown or missing are named', () => {
  expect(() => requestOf(tool('getTask'), {})).toThrow('Cannot call getTask: expected id, got nothing. Pass it.');
  expect(() => requestOf(tool('getTask'), { id: '1', of: 2 })).toThrow(
    'Cannot call getTask: of is no argument of it. Pass only id, wait.',
  );
});
