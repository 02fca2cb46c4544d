import { insertToken, revokeToken, SCOPES } from '../../postgres/api/token';
import { hashToken, newToken } from '../../workers/api/tokens';
import type { ApiWorld } from '../api/world';
import { items, openWorld } from '../api/world';
import type { Chromium } from '../attacks/browser/chromium';
import { findChromium, startChromium } from '../attacks/browser/chromium';
import { startPages } from '../attacks/browser/pages';
import type { PageServer } from '../attacks/browser/pages';
import { Page } from './browser';

/**
 * Login, its end, and pages of other sites beside it, in a real Chromium where there is one. What
 * is served, and how far a session reaches, is tried by served.test.ts without a browser.
 *
 * @slow
 */

let world: ApiWorld;
let chromium: Chromium | null = null;
let others: PageServer;
const tokens = { reader: newToken(), operator: newToken() };
beforeAll(async () => {
  world = await openWorld({ open: false });
  const { pool } = world.database;
  await insertToken(pool, { name: 'ann, who reads', hash: hashToken(tokens.reader), scopes: ['read'] });
  await insertToken(pool, { name: 'bob, who operates', hash: hashToken(tokens.operator), scopes: SCOPES });
  await world.client.submit('items', items('t', 'a', 'b'));
  const program = findChromium(process.env['PATH'] ?? '');
  if (program !== null) chromium = await startChromium(program);
  others = await startPages();
});
afterAll(async () => {
  await chromium?.close();
  await others.close();
  await world.stop();
});

/** Does it in a browser; without one, as far as that goes: the page and its script are there. */
const inBrowser = async (work: (page: Page, started: Chromium) => Promise<void>): Promise<void> => {
  if (chromium === null) {
    const html = await (await fetch(`${world.api.url}/`)).text();
    const script = /src="(assets\/main-\w+\.js)"/.exec(html)![1]!;
    expect((await fetch(`${world.api.url}/${script}`)).status).toBe(200);
    return;
  }
  const page = await Page.open(chromium, world.api.url);
  try {
    await page.load();
    await work(page, chromium);
  } finally {
    await page.close();
  }
};

const logIn = async (page: Page, token: string): Promise<void> => {
  await page.shows('Log in to Muster');
  await page.type('[name=token]', token);
  await page.press('Enter', 13);
  await page.shows('Handlers');
};

test('a token begins a session, which is no script’s to read, sees, and ends', () =>
  inBrowser(async (page) => {
    await page.shows('Log in to Muster');
    expect(await page.violations()).toEqual([]);
    await logIn(page, tokens.reader);
    await page.shows('ann, who reads');
    expect(await page.run('document.cookie')).toBe('');
    expect(await page.run('JSON.stringify([localStorage, sessionStorage])')).toBe('[{},{}]');
    await page.go('#/handlers/items', 'items');
    await page.shows('Limits and use');
    // What the token may not do is not offered.
    expect(await page.run(`document.querySelectorAll('main .actions button').length`)).toBe(0);
    await page.click('Log out');
    await page.shows('Log in to Muster');
    await page.load();
    await page.shows('Log in to Muster');
  }));

test('a session ends with its token', () =>
  inBrowser(async (page) => {
    await logIn(page, tokens.reader);
    const { rows } = await world.database.pool.query<{ id: number }>('select id from api_token where name like $1', [
      'ann%',
    ]);
    await revokeToken(world.database.pool, rows[0]!.id);
    await page.shows('Log in to Muster');
  }));

test('pages of other sites do nothing with the session of a browser', () =>
  inBrowser(async (page, { devtools }) => {
    await logIn(page, tokens.operator);
    const target = `${world.api.url}/v1/handlers/items/pause`;
    const tries = `(async () => {
      const url = ${JSON.stringify(target)};
      const overview = ${JSON.stringify(`${world.api.url}/dashboard/overview`)};
      const ofPage = { 'x-muster-page': '1' };
      const refused = () => 'refused';
      const post = { method: 'POST', credentials: 'include', body: '{}' };
      const send = (init) => fetch(url, { ...post, ...init }).then((one) => one.status, refused);
      const form = document.createElement('form');
      Object.assign(form, { method: 'post', action: url, enctype: 'text/plain', target: 'frame' });
      const frame = Object.assign(document.createElement('iframe'), { name: 'frame' });
      document.body.append(frame, form);
      form.submit();
      navigator.sendBeacon(url, new Blob(['{}'], { type: 'text/plain' }));
      const framed = Object.assign(document.createElement('iframe'), { src: ${JSON.stringify(world.api.url)} });
      document.body.append(framed);
      const got = [
        await send({}),
        await send({ mode: 'no-cors' }),
        await send({ headers: { 'content-type': 'application/json' } }),
        await send({ headers: { 'content-type': 'application/json', ...ofPage } }),
        await fetch(overview, { credentials: 'include', headers: ofPage }).then((one) => one.text(), refused),
      ];
      return got;
    })()`;
    // Another port of this machine is the same site: the browser sends the cookie there.
    for (const host of ['127.0.0.1', 'localhost']) {
      const other = await Page.open({ devtools } as Chromium, `http://${host}:${others.port}`);
      await other.load('attack');
      const got = await other.run<unknown[]>(tries);
      expect([got[0], got[2], got[3], got[4]]).toEqual(['refused', 'refused', 'refused', 'refused']);
      await other.close();
    }
    expect((await world.client.status('items'))[0]!.paused).toBeNull();
    // The same by the page itself is done: so the tries were refused, and not lost.
    await page.go('#/handlers/items', 'items');
    await page.take('Pause', 'main', 'Paused.');
    expect((await world.client.status('items'))[0]!.paused).not.toBeNull();
  }));
