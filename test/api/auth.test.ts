import crypto from 'node:crypto';
import { Agent, get as httpGet } from 'node:http';
import type { Scope } from '../../postgres/api/token';
import { revokeToken, SCOPES } from '../../postgres/api/token';
import { startApi } from '../../workers/api/api';
import type { Route } from '../../workers/api/route';
import { findCaller, hashToken, newToken } from '../../workers/api/tokens';
import pino from 'pino';
import { createDatabase } from '../helpers/database';
import { eventually } from '../helpers/eventually';
import type { ApiWorld } from './world';
import { openWorld, settingsFor } from './world';

/** Authorisation: every route x no token, a wrong one, a revoked one, each scope. */

let world: ApiWorld;
const tokens: Partial<Record<Scope, string>> = {};
let revoked: string;
beforeAll(async () => {
  world = await openWorld();
  for (const scope of SCOPES) tokens[scope] = await world.token(scope);
  revoked = await world.token('admin');
  await revokeToken(world.database.pool, SCOPES.length + 1);
  await eventually(async () => (await world.call('GET /v1/status')).status === 401); // the book is read again within 2 s
});
afterAll(() => world.stop());

const OPEN = ['live', 'ready'];

/** A path that is of the documented form and names nothing. */
const pathOf = ({ path }: Route): string =>
  path
    .replace('{fanout}', '00000000-0000-4000-8000-000000000000')
    .replace('{execution}', '00000000-0000-4000-8000-000000000000')
    .replace('{batch}', '999999')
    .replace(/\{\w+\}/g, 'nobody');
/**
 * Refused by every body's contract, so that nobody changes anything here; without a body a route
 * names nothing.
 */
const knock = async ({ method, body, ...route }: Route, token?: string): Promise<number> => {
  const raw = method === 'GET' || body === undefined ? undefined : '{"no such field":1}';
  const waiting = new AbortController();
  const answer = world.call(`${method} ${pathOf({ method, body, ...route })}`, { raw, token, signal: waiting.signal });
  return (await answer).status;
};
const isAllowed = (status: number): boolean => status !== 401 && status !== 403;

test('HTTP API: every route x no token, a wrong one, a revoked one: 401, and nothing is open but health', async () => {
  const wrong = newToken();
  const open: string[] = [];
  expect(world.api.routes.length).toBeGreaterThan(50);
  for (const route of world.api.routes) {
    const statuses = [await knock(route), await knock(route, wrong), await knock(route, revoked)];
    if (statuses.every((status) => status === 401)) continue;
    expect(statuses.every(isAllowed)).toBe(true);
    open.push(route.id);
  }
  expect(open).toEqual(OPEN);
});

/** They read, or give the caller's own browser a cookie and take it back. */
const CHANGES_NOTHING = ['lookUpTasks', 'readItems', 'dryRunBulk', 'beginSession', 'endSession'];

test('HTTP API: every route x each scope: as its table says; admin may all', async () => {
  const expected = new Map(
    world.api.routes.map((route) => [
      route.id,
      SCOPES.filter((scope) => route.scope === 'open' || scope === 'admin' || scope === route.scope),
    ]),
  );
  const found = new Map<string, Scope[]>();
  for (const route of world.api.routes) {
    const may: Scope[] = [];
    for (const scope of SCOPES) {
      const status = await knock(route, tokens[scope]);
      expect([route.id, status === 401, status >= 500]).toEqual([route.id, false, false]);
      if (isAllowed(status)) may.push(scope);
    }
    found.set(route.id, may);
  }
  expect(found).toEqual(expected);
  const changing = world.api.routes.filter(
    ({ method, scope, id }) => method !== 'GET' && scope === 'read' && !CHANGES_NOTHING.includes(id),
  );
  expect(changing).toEqual([]);
});

test('HTTP API: pages and paths that are not there ask for a token, too; a browser may log in to the pages', async () => {
  const { origin } = new URL(world.api.url);
  const pages = ['/docs', '/docs/json', '/docs/static/swagger-ui-bundle.js', '/openapi.json', '/nobody', '/v1'];
  for (const page of pages) expect([page, (await fetch(origin + page)).status]).toEqual([page, 401]);
  const login = { authorization: `Basic ${Buffer.from(`me:${tokens.read}`).toString('base64')}` };
  const page = await fetch(`${origin}/docs`);
  expect(page.headers.get('www-authenticate')).toMatch(/^Basic/);
  expect((await fetch(`${origin}/docs`, { headers: login })).status).toBe(200);
  expect((await fetch(`${origin}/v1/status`, { headers: login })).status).toBe(401);
  // Neither other paths nor pages that another site embeds make a browser ask for a login.
  const asksBy = async (path: string, headers = {}): Promise<string> =>
    (await fetch(origin + path, { headers })).headers.get('www-authenticate')!.split(' ')[0]!;
  const others = ['/v1/status', '/v1/handlers/items/flush', '/nobody', '/docsy', '/v1/../docs-'];
  for (const path of others) expect([path, await asksBy(path)]).toEqual([path, 'Bearer']);
  const from = (site: string, dest: string) => ({ 'sec-fetch-site': site, 'sec-fetch-dest': dest });
  expect(await asksBy('/docs', from('cross-site', 'image'))).toBe('Bearer');
  expect(await asksBy('/docs/static/index.css', from('same-site', 'iframe'))).toBe('Bearer');
  expect(await asksBy('/docs?a=1', from('cross-site', 'document'))).toBe('Basic'); // a link that was followed
  expect(await asksBy('/docs/json', from('same-origin', 'empty'))).toBe('Basic');
});

test('HTTP API: tokens are in no log, and not in the store', async () => {
  const wrong = newToken();
  await world.call('GET /v1/status', { token: wrong });
  await world.call('POST /v1/handlers/items/tasks', { token: tokens.admin!, raw: '{' });
  await world.call('GET /v1/tasks/%zz', { token: tokens.admin! });
  const log = world.logged.join('');
  expect(log).toContain('"operation":"getStatus"');
  for (const token of [...Object.values(tokens), wrong, revoked]) expect(log).not.toContain(token.slice(7, 20));
  const { rows } = await world.database.pool.query<{ row: string }>('select t::text as row from api_token t');
  expect(rows).toHaveLength(SCOPES.length + 1);
  for (const token of Object.values(tokens)) {
    expect(rows.some(({ row }) => row.includes(token.slice(7)))).toBe(false);
    expect(rows.some(({ row }) => row.includes(hashToken(token).toString('hex')))).toBe(true);
  }
});

test('HTTP API: a token is compared with each that there is, in constant time', () => {
  const tokens = [newToken(), newToken(), newToken()];
  const known = tokens.map((token, id) => ({ id, hash: hashToken(token), scopes: new Set<Scope>() }));
  const compare = jest.spyOn(crypto, 'timingSafeEqual');
  try {
    for (const [token, id] of [
      [tokens[0]!, 0],
      [tokens[2]!, 2],
      [newToken(), undefined],
    ] as const) {
      compare.mockClear();
      expect(findCaller(known, token)?.id).toBe(id);
      expect(compare.mock.calls).toEqual(known.map(({ hash }) => [hash, hashToken(token)]));
    }
  } finally {
    compare.mockRestore();
  }
});

test('HTTP API: comparing takes as long whatever is wrong with a token', () => {
  const right = newToken();
  const known = Array.from({ length: 200 }, (_, id) => ({ id, hash: hashToken(newToken()), scopes: new Set<Scope>() }));
  known[100] = { id: 100, hash: hashToken(right), scopes: new Set(['read']) };
  const flip = (at: number): string => right.slice(0, at) + (right[at] === 'A' ? 'B' : 'A') + right.slice(at + 1);
  const given = { right, first: flip(7), last: flip(right.length - 1), other: newToken() };
  const times: Record<string, number[]> = { right: [], first: [], last: [], other: [] };
  for (let round = 0; round < 3_000; round++)
    for (const [name, token] of Object.entries(given)) {
      const begun = process.hrtime.bigint();
      findCaller(known, token);
      times[name]!.push(Number(process.hrtime.bigint() - begun));
    }
  const median = (of: number[]): number => of.sort((a, b) => a - b)[of.length >> 1]!;
  const medians = Object.values(times).map(median);
  expect(Math.max(...medians) / Math.min(...medians)).toBeLessThan(1.25);
  expect(findCaller(known, right)).toMatchObject({ id: 100 });
});

describe('HTTP API: without tokens', () => {
  test('this machine only: another address is refused with the remedy; with a token it may listen there', async () => {
    const database = await createDatabase();
    const start = () =>
      startApi(settingsFor(database, 'none', { host: '0.0.0.0' }), {
        log: pino({ level: 'silent' }),
        maxConnections: 2,
      });
    await expect(start()).rejects.toThrow(/--host: expected a loopback address .* got 0\.0\.0\.0.*muster token create/);
    await database.pool.query({
      text: `insert into api_token (name, hash, scopes, created_at) values ('x', $1, '{read}', clock())`,
      values: [hashToken('x')],
    });
    const api = await start();
    const port = new URL(api.url).port;
    expect((await fetch(`http://127.0.0.1:${port}/v1/status`)).status).toBe(401);
    // The last token goes: now nobody may, rather than everybody.
    await revokeToken(database.pool, 1);
    await eventually(
      async () =>
        (await fetch(`http://127.0.0.1:${port}/v1/status`, { headers: { authorization: 'Bearer x' } })).status === 401,
    );
    expect((await fetch(`http://127.0.0.1:${port}/v1/status`)).status).toBe(401);
    await api.stop(1_000);
    await database.drop();
  });

  test('a page of a web site whose name resolves to this machine is refused; the first token closes the door', async () => {
    const own = await openWorld();
    expect((await own.call('GET /v1/status')).status).toBe(200);
    const status = await new Promise<number>((resolve, reject) => {
      httpGet(`${own.api.url}/v1/status`, { headers: { host: 'evil.example.com' }, agent: new Agent() }, (answer) => {
        answer.resume();
        resolve(answer.statusCode!);
      }).on('error', reject);
    });
    expect(status).toBe(403);
    const token = await own.token('read');
    await eventually(async () => (await own.call('GET /v1/status')).status === 401);
    expect((await own.call('GET /v1/status', { token })).status).toBe(200);
    await own.stop();
  });
});
