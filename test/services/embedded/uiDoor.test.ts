import { once } from 'node:events';
import type { IncomingMessage, Server } from 'node:http';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { UiDoor } from '../../../workers/embedded/uiDoor';
import { openUiDoor } from '../../../workers/embedded/uiDoor';
import { freePort } from '../../helpers/machine/freePort';

/** What stands in front of the Web UI of `muster dev`, by the headers that browsers send. */

let ui: Server;
let door: UiDoor;
let port: number;
const passed: { method: string | undefined; url: string | undefined; body: string }[] = [];
beforeAll(async () => {
  ui = createServer((asked, response) => {
    void bodyOf(asked).then((body) => {
      passed.push({ method: asked.method, url: asked.url, body });
      response.writeHead(201, { 'x-of': 'the ui' }).end('shown');
    });
  }).listen(0, '127.0.0.1');
  await once(ui, 'listening');
  port = await freePort();
  door = await openUiDoor(port, { host: '127.0.0.1', port: (ui.address() as AddressInfo).port });
});
beforeEach(() => void passed.splice(0));
afterAll(() => {
  door.close();
  ui.closeAllConnections();
  ui.close();
});

const bodyOf = async (message: IncomingMessage): Promise<string> => {
  let text = '';
  for await (const part of message) text += String(part);
  return text;
};

type Headers = Readonly<Record<string, string>>;
/** As a browser sends it: `fetch` would set some of these headers by itself. */
const ask = (method: string, headers: Headers, body = ''): Promise<{ status: number; of?: unknown; text: string }> =>
  new Promise((resolve, reject) => {
    const sized = body === '' ? headers : { ...headers, 'content-length': String(body.length) };
    const sending = request({ host: '127.0.0.1', port, method, path: '/api/v1/x?y', headers: sized }, (answer) => {
      const { statusCode, headers: got } = answer;
      bodyOf(answer).then((text) => resolve({ status: statusCode!, of: got['x-of'], text }), reject);
    });
    sending.on('error', reject);
    sending.end(body);
  });

const own = (): string => `http://127.0.0.1:${port}`;
const PASSED: [string, string, () => Headers][] = [
  ['a program', 'GET', () => ({})],
  ['a program that changes something', 'POST', () => ({})],
  ['a program that calls it localhost', 'GET', () => ({ host: `localhost:${port}` })],
  ['its own page', 'GET', () => ({ origin: own(), 'sec-fetch-site': 'same-origin' })],
  ['its own page that changes something', 'POST', () => ({ origin: own(), 'sec-fetch-site': 'same-origin' })],
  ['an address that was typed', 'GET', () => ({ 'sec-fetch-site': 'none', 'sec-fetch-mode': 'navigate' })],
  ['a link on another page', 'GET', () => ({ 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' })],
  ['a page on another port, which may not read it', 'GET', () => ({ 'sec-fetch-site': 'same-site' })],
];

test.each(PASSED)('%s is answered by the UI: %s', async (_who, method, headers) => {
  const body = method === 'POST' ? '{"a":1}' : '';
  expect(await ask(method, headers(), body)).toEqual({ status: 201, of: 'the ui', text: 'shown' });
  expect(passed).toEqual([{ method, url: '/api/v1/x?y', body }]);
});

const REFUSED: [string, string, Headers, string][] = [
  ['a page under a name that was rebound', 'GET', { host: 'evil.example.com' }, 'Host: '],
  ['the same with a port', 'GET', { host: 'evil.example.com:8233' }, 'Host: '],
  ['a page under a name that begins as this machine', 'GET', { host: 'localhost.evil.com' }, 'Host: '],
  ['a page that opens a WebSocket', 'GET', { origin: 'http://evil.example.com' }, 'Origin: '],
  ['a page that tells no origin', 'POST', { origin: 'null' }, 'Origin: '],
  ['a page that reads', 'GET', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' }, 'Sec-Fetch-Site: '],
  ['a page that asks for the head', 'HEAD', { 'sec-fetch-site': 'cross-site' }, ''],
  ['a form', 'POST', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' }, 'Sec-Fetch-Site: '],
  ['a page on another port that changes something', 'POST', { 'sec-fetch-site': 'same-site' }, 'Sec-Fetch-Site: '],
];

test.each(REFUSED)('%s is refused, and the UI hears nothing of it: %s', async (_who, method, headers, why) => {
  const { status, text } = await ask(method, headers);
  expect([status, text.slice(0, why.length)]).toEqual([403, why]);
  expect(passed).toEqual([]);
});
