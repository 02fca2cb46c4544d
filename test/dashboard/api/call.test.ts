import { once } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** How the page of the dashboard calls the API: as a browser does, to a server of the test. */

interface Refusal extends Error {
  status: number;
  detail: string;
}
interface Calls {
  read(path: string): Promise<unknown>;
  change(method: string, path: string, body?: object, headers?: Record<string, string>): Promise<unknown>;
  isFinal(refusal: Pick<Refusal, 'status'>): boolean;
}
// The page is compiled with the types of a browser, which this program does not have.
// eslint-disable-next-line @typescript-eslint/no-require-imports
const { read, change, isFinal } = require('../../../workers/dashboard/api/call') as Calls;

let server: Server;
let url: string;
let answer: (request: IncomingMessage, response: ServerResponse) => void;
const asked: { method: string | undefined; headers: IncomingMessage['headers']; body: string }[] = [];
beforeAll(async () => {
  server = createServer((request, response) => {
    void text(request).then((body) => {
      asked.push({ method: request.method, headers: request.headers, body });
      answer(request, response);
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
beforeEach(() => {
  asked.splice(0);
  answer = (_, response) => response.end('{"n":1}');
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

const refusalOf = (call: Promise<unknown>): Promise<Refusal> =>
  call.then(
    () => Promise.reject(new Error('it was answered')),
    (refusal: Refusal) => refusal,
  );

test('what is read comes from the API and never from what the browser kept, as the page of this session', async () => {
  expect(await read(`${url}/dashboard/overview`)).toEqual({ n: 1 });
  expect(asked).toMatchObject([
    { method: 'GET', headers: { 'x-muster-page': '1', 'cache-control': 'no-cache', pragma: 'no-cache' }, body: '' },
  ]);
});

test('a change is sent as JSON, also without a body, as no form can send it', async () => {
  const headers = { 'idempotency-key': 'k' };
  expect(await change('POST', `${url}/v1/handlers/items/pause`)).toEqual({ n: 1 });
  expect(await change('PUT', `${url}/v1/handlers/items/limits`, { rate: null }, headers)).toEqual({ n: 1 });
  const ofPage = { 'x-muster-page': '1', 'content-type': 'application/json' };
  expect(asked).toMatchObject([
    { method: 'POST', headers: ofPage, body: '{}' },
    { method: 'PUT', headers: { ...ofPage, ...headers }, body: '{"rate":null}' },
  ]);
});

test.each([
  [404, '{"title":"Not found","detail":"No such handler."}', 'No such handler.'],
  [503, '{"title":"Temporarily unavailable"}', 'Temporarily unavailable'],
  [502, '<html>Bad gateway</html>', 'Status 502.'],
])('a refusal with %i tells what the API says of it: %s', async (status, body, detail) => {
  answer = (_, response) => response.writeHead(status).end(body);
  expect(await refusalOf(read(`${url}/v1/handlers/none`))).toMatchObject({ status, detail });
});

test('an API that is gone is told from one that refuses', async () => {
  answer = (request) => request.socket.destroy();
  expect(await refusalOf(read(url))).toMatchObject({ status: 0, detail: 'The API does not answer.' });
});

test.each(['/v1/tasks/..', '/v1/tasks/%2e%2E/x', '/v1/tasks/.'])(
  '%s, for which a browser would ask elsewhere, is not asked for',
  async (path) => {
    expect(await refusalOf(read(`${url}${path}`))).toMatchObject({ status: 400 });
    expect(asked).toEqual([]);
  },
);

test('only a refusal that will be the same soon is final', () => {
  const statuses = [0, 399, 400, 404, 428, 429, 430, 499, 500, 503];
  expect(statuses.filter((status) => isFinal({ status }))).toEqual([400, 404, 428, 430, 499]);
});
