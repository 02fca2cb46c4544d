import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { request } from 'node:http';
import { startTemporalDev } from '../../workers/embedded';
import type { TemporalDev } from '../../workers/embedded';
import { Tally } from './tally';

/** Web pages against the Temporal dev server of `muster dev`: its Web UI, and its HTTP port. */

const tally = new Tally('Temporal dev server: web pages');

let dev: TemporalDev;
beforeAll(async () => {
  dev = await startTemporalDev({ ui: true });
});
afterAll(() => dev.stop());

type Headers = Readonly<Record<string, string>>;

const call = (port: number, method: string, path: string, headers: Headers): Promise<number> =>
  new Promise((resolve) => {
    const body =
      method === 'GET' ? undefined : '{"workflowId":"w","workflowType":{"name":"x"},"taskQueue":{"name":"q"}}';
    const sized = body === undefined ? headers : { ...headers, 'content-length': String(body.length) };
    const sending = request({ host: '127.0.0.1', port, method, path, headers: sized }, (answer) => {
      answer.resume();
      resolve(answer.statusCode!);
    });
    // Not HTTP, or closed: nothing was done for the page.
    sending.on('error', () => resolve(0));
    sending.setTimeout(2_000, () => sending.destroy());
    sending.end(body);
  });

const WORKFLOW = '/api/v1/namespaces/default/workflows/w';
const PAGES: Readonly<Record<string, readonly [method: string, headers: Headers]>> = {
  'reads under a name that was rebound': ['GET', { host: 'evil.example.com' }],
  'reads under a name that was rebound, with a port': ['GET', { host: 'evil.example.com:8233' }],
  'reads under a name that begins as this machine': ['GET', { host: 'localhost.evil.com' }],
  'reads from another site': ['GET', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' }],
  // As Chromium sends it: nothing but the origin tells of the page.
  'opens a WebSocket from another site': [
    'GET',
    { origin: 'http://evil.example.com', upgrade: 'websocket', connection: 'Upgrade', 'sec-websocket-version': '13' },
  ],
  'starts under a name that was rebound': [
    'POST',
    { host: 'evil.example.com', origin: 'http://evil.example.com', 'sec-fetch-site': 'same-origin' },
  ],
  'starts from another site': ['POST', { 'sec-fetch-site': 'cross-site', 'content-type': 'text/plain' }],
  'starts from another port': ['POST', { 'sec-fetch-site': 'same-site', 'content-type': 'text/plain' }],
};

/** Ports on 127.0.0.1 at which a process listens. */
const portsOf = (pid: number): number[] => {
  const inodes = new Set(
    readdirSync(`/proc/${pid}/fd`).map((fd) => {
      try {
        return /socket:\[(\d+)\]/.exec(readlinkSync(`/proc/${pid}/fd/${fd}`))?.[1];
      } catch {
        return undefined; // closed meanwhile
      }
    }),
  );
  const LOOPBACK = '0100007F';
  return readFileSync('/proc/net/tcp', 'utf8')
    .trim()
    .split('\n')
    .slice(1)
    .map((line) => line.trim().split(/\s+/))
    .filter(([, local, , state, , , , , , inode]) => state === '0A' && local!.startsWith(LOOPBACK) && inodes.has(inode))
    .map(([, local]) => Number.parseInt(local!.split(':')[1]!, 16));
};

test('the Web UI refuses pages of other sites and of names that were rebound, and shows its own', async () => {
  const port = Number(new URL(dev.uiUrl!).port);
  for (const [what, [method, headers]] of Object.entries(PAGES)) {
    const status = await call(port, method, WORKFLOW, headers);
    tally.add(what, status === 403 ? null : `status ${status}`);
  }
  for (const host of [`127.0.0.1:${port}`, `localhost:${port}`, 'localhost'])
    expect(await call(port, 'GET', '/api/v1/namespaces', { host })).toBe(200);
  // A link on another page.
  expect(await call(port, 'GET', '/', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' })).toBe(200);
  tally.expectNoneThrough(Object.keys(PAGES).length);
});

test('no port of the server itself does for a page what the Web UI refuses', async () => {
  const ports = portsOf(dev.pid);
  expect(ports).toContain(Number(dev.address.split(':')[1]));
  for (const port of ports)
    for (const [what, [method, headers]] of Object.entries(PAGES)) {
      const status = await call(port, method, WORKFLOW, headers);
      tally.add(`${what}, at port ${port}`, status < 200 || status >= 300 ? null : `status ${status}`);
    }
  for (const port of ports) {
    const status = await call(port, 'GET', '/api/v1/namespaces', { host: `127.0.0.1:${port}` });
    tally.add(`reads as this machine, at port ${port}`, status !== 200 ? null : 'status 200');
  }
  tally.expectNoneThrough(Object.keys(PAGES).length * 3);
});
