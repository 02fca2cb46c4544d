import { request } from 'node:http';
import type { ApiWorld } from '../api/world';
import { openWorld } from '../api/world';
import type { Route } from '../../workers/api/route';
import sent from './browser/sent.json';
import { Tally } from './tally';

/**
 * Web pages of other sites, in a browser on the machine of an API that requires no token.
 * `browser/sent.json` has the headers that a browser sends for them, by page and way of sending:
 * `npm run attack:browser -- --record` let a real Chromium send to a server that refuses nothing,
 * from a page of each kind, and wrote down what arrived. Without `--record` it compares.
 *
 * @slow
 */

const tally = new Tally('HTTP API: pages of other sites');
const recorded = new Tally('HTTP API: what a browser sent from other sites');

let world: ApiWorld;
let host: string;
beforeAll(async () => {
  world = await openWorld();
  ({ host } = new URL(world.api.url));
});
afterAll(() => world.stop());

type Headers = Readonly<Record<string, string>>;

/** As a browser sends it: `fetch` would set some of these headers by itself. */
const call = (route: Route, headers: Headers, body?: string): Promise<number> =>
  new Promise((resolve, reject) => {
    const sized = body === undefined ? headers : { ...headers, 'content-length': String(body.length) };
    const sending = request(`${world.api.url}${pathOf(route)}`, { method: route.method, headers: sized }, (answer) => {
      resolve(answer.statusCode!);
      answer.destroy();
    });
    sending.on('error', reject);
    sending.end(body);
  });

/** A path of the documented form that names nothing. */
const pathOf = ({ path }: Route): string =>
  path
    .replace(/\{(fanout|execution)\}/, '00000000-0000-4000-8000-000000000000')
    .replace('{batch}', '999999')
    .replace('{no}', '0')
    .replace(/\{\w+\}/g, 'nothing');

const JSON_TYPE = { 'content-type': 'application/json' };
/** What a page can make a browser send to a state-changing path. */
const PAGES: Readonly<Record<string, { headers: Headers; body?: string }>> = {
  'a form without fields': { headers: {} },
  'a form': { headers: { 'content-type': 'application/x-www-form-urlencoded' }, body: 'a=1' },
  'a form of parts': { headers: { 'content-type': 'multipart/form-data; boundary=x' }, body: '--x--' },
  'a form of text': { headers: { 'content-type': 'text/plain' }, body: '{}' },
  'text that begins as JSON': { headers: { 'content-type': 'application/jsonp' }, body: '{}' },
  'another origin': { headers: { ...JSON_TYPE, origin: 'https://evil.example.com' }, body: '{}' },
  'no origin that it tells': { headers: { ...JSON_TYPE, origin: 'null' }, body: '{}' },
  'another port of this machine': { headers: { ...JSON_TYPE, origin: 'http://127.0.0.1:1' }, body: '{}' },
  'another name of this machine': { headers: { ...JSON_TYPE, origin: 'http://localhost.evil.com' }, body: '{}' },
  'another site': { headers: { ...JSON_TYPE, 'sec-fetch-site': 'cross-site' }, body: '{}' },
  'the same site': { headers: { ...JSON_TYPE, 'sec-fetch-site': 'same-site' }, body: '{}' },
  'a site twice': { headers: { ...JSON_TYPE, 'sec-fetch-site': 'none, cross-site' }, body: '{}' },
  'a name that was rebound': { headers: { ...JSON_TYPE, host: 'evil.example.com:8080' }, body: '{}' },
  'a name that was rebound, of its own origin': {
    headers: {
      ...JSON_TYPE,
      host: 'evil.example.com',
      origin: 'http://evil.example.com',
      'sec-fetch-site': 'same-origin',
    },
    body: '{}',
  },
};
const REFUSED = [403, 415];

test('every route that changes something refuses every kind of page, with a body and without', async () => {
  const changing = world.api.routes.filter(({ method }) => method !== 'GET');
  expect(changing.length).toBeGreaterThan(30);
  for (const route of changing)
    for (const [page, { headers, body }] of Object.entries(PAGES))
      for (const sent of new Set([body, undefined])) {
        const status = await call(route, headers, sent);
        tally.add(`${page}: ${route.id}`, REFUSED.includes(status) ? null : `status ${status}`);
      }
  tally.expectNoneThrough(changing.length * Object.keys(PAGES).length);
});

/** What a browser sent. A page on another port of this machine may ask, and reads nothing. */
test('every route refuses what a browser was recorded to send for a page of another site', async () => {
  const { port } = new URL(world.api.url);
  let tried = 0;
  for (const { page, way, method, headers } of sent) {
    const isReadHere = method === 'GET' && headers['sec-fetch-site'] === 'same-site' && !('origin' in headers);
    const told = Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name, value.replace('{server}', port).replace('{page}', '1')]),
    );
    for (const route of world.api.routes.filter(({ scope }) => scope !== 'open')) {
      if (method !== 'OPTIONS' && method !== route.method) continue;
      const status = await call(
        { ...route, method: method as Route['method'] },
        told,
        method === 'GET' ? undefined : '{}',
      );
      const isRefused = REFUSED.includes(status) || (method === 'OPTIONS' && status === 405);
      recorded.add(`${page}, ${way}: ${method} ${route.id}`, isRefused || isReadHere ? null : `status ${status}`);
      tried++;
    }
  }
  recorded.expectNoneThrough(tried);
  expect(tried).toBeGreaterThan(2_000);
});

test('every route that reads refuses pages of other sites, and of a name that was rebound', async () => {
  const pages: Headers[] = [
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'image' },
    { host: 'evil.example.com' },
    { host: 'evil.example.com', 'sec-fetch-site': 'same-origin' },
  ];
  const reading = world.api.routes.filter(({ method, scope }) => method === 'GET' && scope !== 'open');
  for (const route of reading)
    for (const headers of pages) {
      const status = await call(route, headers);
      tally.add(`${JSON.stringify(headers)}: ${route.id}`, status === 403 ? null : `status ${status}`);
    }
  tally.expectNoneThrough(reading.length * pages.length);
});

test('the pages of the API itself, scripts and clients may call', async () => {
  const own: Headers[] = [
    JSON_TYPE,
    { ...JSON_TYPE, origin: `http://${host}`, 'sec-fetch-site': 'same-origin' },
    { 'content-type': 'application/json; charset=utf-8' },
    { ...JSON_TYPE, 'sec-fetch-site': 'none' },
  ];
  for (const route of world.api.routes)
    for (const headers of own)
      for (const body of route.method === 'GET' ? [undefined] : [undefined, '{}']) {
        if (route.stream === 'text/event-stream') continue;
        const status = await call(route, headers, body);
        expect([route.id, headers, REFUSED.includes(status), status >= 500]).toEqual([route.id, headers, false, false]);
      }
});

test('an API that was not asked to be open answers nobody without a token, and says how to make one', async () => {
  const closed = await openWorld({ open: false });
  for (const route of closed.api.routes.filter(({ scope, id }) => scope !== 'open' && id !== 'openapi')) {
    const answer = await closed.call(`${route.method} ${pathOf(route)}`, {
      body: route.method === 'GET' ? undefined : {},
    });
    const told = /muster token create/.test(String(answer.body.detail));
    tally.add(`no token: ${route.id}`, answer.status === 401 && told ? null : `status ${answer.status}`);
  }
  expect((await closed.call('GET /openapi.json')).status).toBe(200);
  expect((await closed.call('GET /health/ready')).status).toBe(200);
  await closed.stop();
  tally.expectNoneThrough(50);
});
