import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Server } from 'node:http';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { eventually } from '../../helpers/eventually';
import { freePort } from '../../helpers/machine/freePort';
import { compose } from '../compose';
import { ROOT } from '../project';

/**
 * The process that docker-compose.yml has before Temporal's Web UI, which itself answers any name;
 * in place of the UI a server that answers all.
 */

const service = compose.services['temporal-ui-door'];
const PROXIED = 'temporal.example.com';
/** The program and its file as in the image, with these arguments in place of those of the file. */
const spawnDoor = (...args: readonly string[]) => {
  const [program, file] = service!.entrypoint!;
  const here = file!.replace(/^\/app\//, `${ROOT}${path.sep}`);
  return spawn(program!, [here, ...args], { stdio: ['ignore', 'ignore', 'pipe'] });
};
let ui: Server;
let door: ChildProcess;
let port: number;
beforeAll(async () => {
  ui = createServer((_asked, response) => response.end('the ui')).listen(0, '127.0.0.1');
  await once(ui, 'listening');
  port = await freePort();
  door = spawnDoor(String(port), `127.0.0.1:${(ui.address() as AddressInfo).port}`, `Other.test, ${PROXIED}`);
  await eventually(async () => (await ask({})).status === 200);
});
afterAll(async () => {
  const gone = once(door, 'exit');
  door.kill();
  await gone;
  ui.closeAllConnections();
  ui.close();
});

type Headers = Readonly<Record<string, string>>;
const ask = (headers: Headers, method = 'GET'): Promise<{ status: number; text: string }> =>
  new Promise((resolve) => {
    const asking = request({ host: '127.0.0.1', port, method, headers }, (answer) => {
      let text = '';
      answer.setEncoding('utf8').on('data', (part: string) => (text += part));
      answer.on('end', () => resolve({ status: answer.statusCode!, text }));
    });
    asking.on('error', ({ message }) => resolve({ status: 0, text: message }));
    asking.end();
  });

test.each([
  ['this machine', { host: 'localhost:8080' }],
  ['a name that the operator gave, in capitals', { host: 'OTHER.test:443' }],
  ['a page of such a name', { host: PROXIED, origin: `https://${PROXIED}` }],
])('%s is answered by the UI', async (_what, headers) => {
  expect(await ask(headers, 'POST')).toEqual({ status: 200, text: 'the ui' });
});

test.each([
  ['a name that was rebound', { host: 'evil.example.com' }, 'Host: '],
  ["a name that ends as the operator's", { host: `evil.${PROXIED}` }, 'Host: '],
  ['a page of another site', { host: PROXIED, origin: 'https://evil.example.com' }, 'Origin: '],
])('%s is refused', async (_what, headers, why) => {
  const { status, text } = await ask(headers, 'POST');
  expect([status, text.slice(0, why.length)]).toEqual([403, why]);
});

test('it asks the UI, knows no secret, and only it has a port of the machine', () => {
  expect(service).toMatchObject({
    command: ['8080', 'temporal-ui:8080', '${TEMPORAL_UI_HOSTS:-}'],
    depends_on: { 'temporal-ui': { condition: 'service_healthy' } },
    networks: ['control'],
    ports: ['127.0.0.1:${TEMPORAL_UI_PORT:-8080}:8080'],
  });
  expect(service).not.toHaveProperty('environment');
  expect(service).not.toHaveProperty('volumes');
  expect(compose.services['temporal-ui']).not.toHaveProperty('ports');
});

test.each([
  ['8080', '', /expected host:port of the UI, got "". /],
  ['8080', 'temporal-ui', /expected host:port of the UI, got /],
  ['8080', 'temporal-ui:x', /expected host:port of the UI, got /],
  ['8080', 'temporal-ui:0', /expected host:port of the UI, got /],
  ['', 'temporal-ui:8080', /expected a port from 1 to 65535, got "". /],
  ['eighty', 'temporal-ui:8080', /expected a port from 1 to 65535, got "eighty". /],
])('at port %j, before the UI at %j, it says what is missing, and ends', async (own, address, message) => {
  const child = spawnDoor(own, address);
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (part: string) => (said += part));
  const [code] = (await once(child, 'close')) as [number];
  expect([code, said]).toEqual([1, expect.stringMatching(/^Cannot open the door of the Web UI: /)]);
  expect(said).toMatch(message);
});
