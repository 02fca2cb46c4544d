import { gunzipSync } from 'node:zlib';
import { request } from 'node:http';
import type { HourPage } from '../../workflows/contracts/dashboard';
import { NO_QUOTAS, upsertTenant } from '../../postgres/api/tenant';
import { insertToken, revokeToken, SCOPES } from '../../postgres/api/token';
import { countNotedEnds } from '../../postgres/outcomes/uncounted';
import { inTransaction } from '../../postgres/pool';
import { hashToken, newToken } from '../../workers/api/tokens';
import type { ApiWorld } from '../api/world';
import { items, openWorld } from '../api/world';
import { eventually } from '../helpers/eventually';
import { Lateness } from '../helpers/machine/lateness';

/** What a browser gets, and how far its session reaches; without a browser. */

let world: ApiWorld;
/** All made before the first request: the API reads tokens again after two seconds. */
const tokens: Record<'read' | 'leaving' | 'revoked' | 'operate' | 'submit' | 'all' | 'narrow' | 'acme', string> = {
  ...{ read: '', leaving: '', revoked: '', operate: '', submit: '', all: '', narrow: '', acme: '' },
};
beforeAll(async () => {
  world = await openWorld({ open: false });
  const { pool } = world.database;
  await upsertTenant(pool, 'acme', NO_QUOTAS);
  const limited = async (limits: { tenant?: string; handlers?: string[] }): Promise<string> => {
    const token = newToken();
    await insertToken(pool, { name: 'limited', hash: hashToken(token), scopes: SCOPES, ...limits });
    return token;
  };
  for (const name of ['read', 'leaving', 'revoked'] as const) tokens[name] = await world.token('read');
  tokens.operate = await world.token('read', 'operate');
  tokens.submit = await world.token('submit');
  tokens.all = await world.token(...SCOPES);
  tokens.narrow = await limited({ handlers: ['nar*'] });
  tokens.acme = await limited({ tenant: 'acme' });
});
afterAll(() => world.stop());

interface Got {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  body: Buffer;
}
/** As it is sent: `fetch` would unzip, and set headers by itself. */
const get = (path: string, headers: Record<string, string> = {}, method = 'GET', body?: string): Promise<Got> =>
  new Promise((resolve, reject) => {
    const sized = body === undefined ? headers : { ...headers, 'content-length': String(Buffer.byteLength(body)) };
    const sending = request(`${world.api.url}${path}`, { method, headers: sized }, (answer) => {
      const parts: Buffer[] = [];
      answer.on('data', (part: Buffer) => parts.push(part));
      answer.on('end', () =>
        resolve({ status: answer.statusCode!, headers: answer.headers, body: Buffer.concat(parts) }),
      );
    });
    sending.on('error', reject);
    sending.end(body);
  });

const ofPage = { 'x-muster-page': '1', 'content-type': 'application/json' };
const begin = async (token: string, origin?: string): Promise<Got> =>
  get(
    '/dashboard/session',
    { ...ofPage, authorization: `Bearer ${token}`, ...(origin === undefined ? {} : { origin }) },
    'POST',
    '{}',
  );
const cookieOf = ({ headers }: Got): string => String(headers['set-cookie']).split(';')[0]!;
const withCookie = (cookie: string): Record<string, string> => ({ ...ofPage, cookie });

describe('files', () => {
  const assets = async (): Promise<string[]> =>
    [...(await get('/')).body.toString().matchAll(/(?:src|href)="(assets\/[^"]+)"/g)].map(([, path]) => `/${path!}`);

  test('the page and its three files are served to all, with a policy that permits nothing else', async () => {
    const paths = ['/', ...(await assets())];
    expect(paths).toHaveLength(4);
    for (const path of paths) {
      const { status, headers } = await get(path);
      expect([path, status]).toEqual([path, 200]);
      const policy = String(headers['content-security-policy']);
      expect(policy).toContain("default-src 'none'");
      expect(policy).toContain("frame-ancestors 'none'");
      expect(policy).not.toMatch(/unsafe|\*|https?:/);
      expect(headers['x-content-type-options']).toBe('nosniff');
    }
    const page = (await get('/')).body.toString();
    expect(page).not.toMatch(/<script>|<style>|style=|https?:\/\//);
  });

  test('assets have a hash in their name and never expire; the page is asked for anew', async () => {
    for (const path of await assets()) {
      expect(path).toMatch(/-[A-Z0-9]{8}\.(js|css|svg)$/);
      expect((await get(path)).headers['cache-control']).toBe('public, max-age=31536000, immutable');
    }
    const { headers } = await get('/');
    expect(headers['cache-control']).toBe('no-cache');
    const again = await get('/', { 'if-none-match': String(headers['etag']) });
    expect([again.status, again.body.length]).toEqual([304, 0]);
  });

  test('all of it has at most 150 KB zipped, and names no other host', async () => {
    let bytes = 0;
    for (const path of ['/', ...(await assets())]) {
      const zipped = await get(path, { 'accept-encoding': 'gzip, br' });
      expect(zipped.headers['content-encoding']).toBe('gzip');
      expect(gunzipSync(zipped.body)).toEqual((await get(path)).body);
      bytes += zipped.body.length;
    }
    expect(bytes).toBeLessThan(150_000);
  });

  test('nothing else of the folder is served, and no other method', async () => {
    for (const path of ['/assets/', '/assets/../index.html', '/index.html', '/assets/none-AAAAAAAA.js'])
      expect((await get(path)).status).toBeGreaterThanOrEqual(401);
    expect((await get('/', {}, 'POST')).status).toBeGreaterThanOrEqual(401);
  });
});

describe('a session', () => {
  test('begins with a token, in a cookie that no script reads and no other site sends', async () => {
    const first = await begin(tokens.read, world.api.url);
    expect(String(first.headers['set-cookie'])).toMatch(
      /^muster=[\w-]+; Path=\/; HttpOnly; SameSite=Strict; Max-Age=43200$/,
    );
    const seen = await get('/dashboard/session', withCookie(cookieOf(first)));
    expect(JSON.parse(seen.body.toString())).toMatchObject({ name: 'read', scopes: ['read'], tenant: null });
  });

  test('is bound to the host and to TLS where the page came by TLS', async () => {
    const secure = await begin(tokens.read, world.api.url.replace('http:', 'https:'));
    expect(String(secure.headers['set-cookie'])).toMatch(/^__Host-muster=.*; Path=\/; .*; Secure$/);
    expect((await get('/dashboard/overview', withCookie(cookieOf(secure)))).status).toBe(200);
  });

  test('may do what its token may, and no more', async () => {
    const cookie = cookieOf(await begin(tokens.read));
    expect((await get('/dashboard/overview', withCookie(cookie))).status).toBe(200);
    for (const path of ['/v1/handlers/items/pause', '/v1/tasks:cancel'])
      expect((await get(path, withCookie(cookie), 'POST', '{}')).status).toBe(403);
    expect((await get('/v1/audit', withCookie(cookie))).status).toBe(403);
    const operator = cookieOf(await begin(tokens.operate));
    await world.client.submit('items', items('t', 'a'));
    expect((await get('/v1/handlers/items/pause', withCookie(operator), 'POST', '{}')).status).toBe(200);
    expect((await get('/v1/handlers/items/resume', withCookie(operator), 'POST', '{}')).status).toBe(200);
  });

  test('does not begin without the scope read, nor with a wrong token', async () => {
    const refused = await begin(tokens.submit);
    expect([refused.status, refused.headers['set-cookie']]).toEqual([403, undefined]);
    expect((await begin(newToken())).status).toBe(401);
    expect((await get('/dashboard/session', ofPage)).status).toBe(401);
  });

  test('counts for no page of another site, nor without the header of ours', async () => {
    const cookie = cookieOf(await begin(tokens.all));
    const { host } = new URL(world.api.url);
    const pause = (headers: Record<string, string>): Promise<Got> =>
      get('/v1/handlers/items/pause', { cookie, ...headers }, 'POST', '{}');
    expect((await pause({ 'content-type': 'application/json' })).status).toBe(401);
    for (const origin of ['https://evil.example.com', 'null', 'http://127.0.0.1:1'])
      expect((await pause({ ...ofPage, origin })).status).toBe(403);
    for (const site of ['cross-site', 'same-site'])
      expect((await pause({ ...ofPage, 'sec-fetch-site': site })).status).toBe(403);
    expect((await pause({ 'x-muster-page': '1', 'content-type': 'text/plain' })).status).toBe(415);
    expect((await get('/dashboard/overview', { cookie })).status).toBe(401);
    expect((await get('/dashboard/overview', { ...withCookie(cookie), 'sec-fetch-site': 'cross-site' })).status).toBe(
      403,
    );
    expect((await pause({ ...ofPage, origin: `http://${host}`, 'sec-fetch-site': 'same-origin' })).status).toBe(200);
    expect((await get('/v1/handlers/items/resume', withCookie(cookie), 'POST', '{}')).status).toBe(200);
  });

  test('is shown its own change at once, though what is shown is kept for a second', async () => {
    const cookie = cookieOf(await begin(tokens.all));
    await world.client.submit('items', items('t', 'shown'));
    const isPaused = async (): Promise<boolean> => {
      const { body } = await get('/dashboard/handlers/items', withCookie(cookie));
      return JSON.parse(body.toString()).status.paused !== null;
    };
    for (const [verb, paused] of [
      ['pause', true],
      ['resume', false],
    ] as const) {
      expect(await isPaused()).toBe(!paused);
      await get(`/v1/handlers/items/${verb}`, withCookie(cookie), 'POST', '{}');
      expect(await isPaused()).toBe(paused);
    }
  });

  test('is shown counts that cost little, and never the comparison of all tasks, which takes seconds', async () => {
    const cookie = cookieOf(await begin(tokens.all));
    await world.client.submit('items', items('t', 'counted'));
    const read = async (path: string) => JSON.parse((await get(path, withCookie(cookie))).body.toString());
    const { status } = await read('/dashboard/handlers/items');
    expect(status).toMatchObject({ handler: 'items', identityHolds: null });
    const { handlers } = await read('/dashboard/overview');
    expect(handlers).toContainEqual(expect.objectContaining({ handler: 'items', identityHolds: null }));
  });

  test('ends within two seconds of the revocation of its token', async () => {
    const cookie = cookieOf(await begin(tokens.revoked));
    expect((await get('/dashboard/overview', withCookie(cookie))).status).toBe(200);
    const { rows } = await world.database.pool.query<{ id: number }>('select id from api_token where hash = $1', [
      hashToken(tokens.revoked),
    ]);
    await revokeToken(world.database.pool, rows[0]!.id);
    const revokedAt = performance.now();
    const lateness = new Lateness(() => world.database.pool.query('select 1'));
    await eventually(async () => (await get('/dashboard/overview', withCookie(cookie))).status === 401);
    const tookMs = performance.now() - revokedAt;
    await lateness.stop();
    expect(tookMs - lateness.since(revokedAt)).toBeLessThan(2_500);
  });

  test('is taken back at its end', async () => {
    const cookie = cookieOf(await begin(tokens.leaving));
    const ended = await get('/dashboard/session', withCookie(cookie), 'DELETE', '{}');
    expect([ended.status, String(ended.headers['set-cookie'])]).toEqual([200, expect.stringContaining('Max-Age=0')]);
  });
});

describe('limited tokens', () => {
  const overview = async (cookie: string): Promise<{ handlers: { handler: string }[]; nodes: unknown }> =>
    JSON.parse((await get('/dashboard/overview', withCookie(cookie))).body.toString());

  test('see their handlers in the overview; a tenant sees none, and its own fan-outs', async () => {
    for (const name of ['items', 'narrow']) await world.client.submit(name, items('t', `of-${name}`));
    const cookies = [tokens.all, tokens.narrow, tokens.acme].map(async (token) => cookieOf(await begin(token)));
    const [all, narrow, acme] = (await Promise.all(cookies)) as [string, string, string];
    const names = async (cookie: string) => (await overview(cookie)).handlers.map(({ handler }) => handler);
    expect(await names(all)).toEqual(expect.arrayContaining(['items', 'narrow']));
    expect(await names(narrow)).toEqual(['narrow']);
    expect(await overview(acme)).toMatchObject({ handlers: [], nodes: null, queuers: null });
    await world.client.openFanout({ userKey: 'of no tenant' });
    await get('/v1/fanouts', withCookie(acme), 'POST', '{"userKey":"of acme"}');
    const fanouts = JSON.parse((await get('/dashboard/fanouts', withCookie(acme))).body.toString()).fanouts;
    expect(fanouts.map(({ userKey }: { userKey: string }) => userKey)).toEqual(['of acme']);
    expect((await get('/dashboard/handlers/items', withCookie(narrow))).status).toBe(404);
    expect((await get('/dashboard/handlers/items/targets/t', withCookie(acme))).status).toBe(404);
  });

  test('see the whole hour of each of their handlers, however many are busy', async () => {
    await world.database.pool.query(`
with busy as (
  insert into handler (name, leaders, max_items, linger_ms, per_target, per_handler, retention_ms, timeout_ms)
  select n.name, h.leaders, h.max_items, h.linger_ms, h.per_target, h.per_handler, h.retention_ms, h.timeout_ms
  from handler h cross join (
    select 'narrow-' || i from generate_series(1, 3) i
    union all select 'busy-' || i from generate_series(1, 37) i) n (name)
  where h.name = 'items' returning id)
insert into outcome_minute (handler_id, minute, calls, ends, latency, sizes, reasons, tasks, call_ms)
select id, date_trunc('minute', clock()) - ago * interval '1 minute', '{2,1}', '{5,1}', '{}', '{}', '{}', 0, 0
from busy cross join generate_series(0, 70) ago`);
    const hour = async (token: string): Promise<HourPage> =>
      JSON.parse((await get('/dashboard/hour', withCookie(cookieOf(await begin(token))))).body.toString());
    const [all, narrow, acme] = await Promise.all([tokens.all, tokens.narrow, tokens.acme].map(hour));
    expect([all!.handlers.length, acme!.handlers]).toEqual([40, []]);
    expect(narrow!.handlers.map(({ handler }) => handler).sort()).toEqual(['narrow-1', 'narrow-2', 'narrow-3']);
    for (const { succeeded, failed, callsPerS, endsPerMin } of all!.handlers) {
      // A minute may have begun meanwhile.
      expect([succeeded.slice(0, 59), failed.slice(0, 59)]).toEqual([Array(59).fill(5), Array(59).fill(1)]);
      expect(callsPerS).toBeGreaterThan(0);
      expect(endsPerMin).toMatchObject({ dead: 0, succeeded: expect.any(Number) });
    }
  });

  test('see no calls of a handler whose tasks ended without one', async () => {
    await world.client.submit('narrow', items('t', 'cancelled'));
    await world.client.cancel('cancelled');
    await countNotedEnds(world.database.pool);
    const { body } = await get('/dashboard/hour', { authorization: `Bearer ${tokens.narrow}` });
    const { handlers } = JSON.parse(body.toString()) as HourPage;
    const narrow = handlers.find(({ handler }) => handler === 'narrow')!;
    expect(narrow.callsPerS).toBe(0);
    expect(narrow.endsPerMin.cancelled).toBeGreaterThan(0);
  });

  test('the hour is one of the large answers, of which few are built at once', async () => {
    const { pool } = world.database;
    const as = (token: string): Record<string, string> => ({ authorization: `Bearer ${token}` });
    const hours = await inTransaction(pool, async (tx) => {
      await tx.query('lock table outcome_minute in access exclusive mode'); // each hour waits for it
      const building = [tokens.all, tokens.narrow].map((token) => get('/dashboard/hour', as(token)));
      const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
        and query like '%outcome_minute%'`;
      await eventually(async () => (await pool.query(waiting)).rowCount === 2);
      const another = await get('/v1/executions', as(tokens.read));
      expect([another.status, another.body.toString()]).toEqual([503, expect.stringContaining('large answers')]);
      return building;
    });
    expect((await Promise.all(hours)).map(({ status }) => status)).toEqual([200, 200]);
  });
});
