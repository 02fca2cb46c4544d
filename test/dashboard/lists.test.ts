import type { ApiWorld } from '../api/world';
import { items, openWorld } from '../api/world';
import type { Chromium } from '../attacks/browser/chromium';
import { findChromium, startChromium } from '../attacks/browser/chromium';
import { Page } from './browser';
import { hourPageOf, minute, outcomesOf } from './planted';

/**
 * Lists of errors and outcomes as no small store has them: the answers are put in by the browser.
 * What the API answers is on the pages of pages.test.ts.
 *
 * @full
 */

let world: ApiWorld;
let chromium: Chromium;
let page: Page;
beforeAll(async () => {
  const program = findChromium(process.env['PATH'] ?? '');
  if (program === null) throw new Error('Cannot find a Chromium on the PATH. Install it, or leave out this file.');
  [chromium, world] = await Promise.all([startChromium(program), openWorld()]);
  await world.client.submit('items', items('t', 'a'));
  page = await Page.open(chromium, world.api.url);
});
afterAll(async () => {
  await page.close();
  await chromium.close();
  await world.stop();
});

const SESSION = {
  ...{ name: null, scopes: ['admin'], tenant: null, handlers: null, version: '1', namespace: 'default' },
  ...{ temporalUi: 'https://temporal.example.com', traceUrl: null },
};
const ERRORS = {
  errors: [
    {
      ...{ handler: 'items', of: 'dead', text: 'HTTP <n> from <url>', count: 1_234, error: 'HTTP 503 from http://x' },
      ...{ first: minute, last: minute, tasks: ['order-1'], batches: [17], callbacks: [] },
      ...{
        list: 'muster tasks items --state dead',
        again: `muster bulk redrive items --state dead --error-group 'HTTP <n> from <url>'`,
      },
    },
  ],
  ...{ since: minute, looked: 2_000, complete: false },
};
test('errors are listed by text with links to their tasks, and the overview has an hour as a line', async () => {
  const planted = { '/v1/outcomes': outcomesOf('items'), '/dashboard/hour': hourPageOf('items') };
  await page.answer({ '/dashboard/session': SESSION, '/v1/errors': ERRORS, ...planted });
  await page.load('#/errors');
  await page.shows('HTTP <n> from <url>');
  await page.shows('1,234');
  await page.shows('Of the newest 2,000 rows; there are more.');
  expect(await page.run(`[...document.querySelectorAll('tbody a')].map((one) => one.getAttribute('href'))`)).toEqual([
    '#/handlers/items',
    '#/handlers/items/tasks?state=dead',
    '#/tasks/order-1',
    '#/batches/17',
  ]);
  expect(await page.run(`document.querySelector('tbody td:last-of-type').textContent`)).toContain('Redrive all');
  expect(await page.violations()).toEqual([]);
  await page.go('#/', 'Overview');
  await page.until(`document.querySelector('.spark')`);
  expect(await page.run(`document.querySelector('.spark').getAttribute('aria-label')`)).toBe(
    '4,000 succeeded, 3 did not; at most 4,000 per minute',
  );
  expect(await page.violations()).toEqual([]);
  await page.go('#/handlers/items', 'items');
  await page.shows('p50 75 ms, p99 100 ms');
  await page.shows('p50 13 s, p99 29 s'); // of the hour
  await page.shows('100 calls: 98 results, 2 later');
  await page.until(`document.querySelector('a[href^="https://temporal.example.com/namespaces/default/workflows/"]')`);
  expect(page.complaints).toEqual([]);
});

test('a bulk action is started from a list after a dry run, once, and stopped', async () => {
  await page.load('#/handlers/items/tasks?state=created');
  await page.click('Cancel all', 'main');
  await page.shows('1 task matches now: a.');
  expect(await page.run(`document.querySelector('dialog h2').textContent`)).toBe('Cancel all waiting tasks of items?');
  await page.click('Cancel all', 'dialog');
  await page.shows('Started.');
  const { actions } = await world.client.bulk.list({ handler: 'items' });
  expect(actions).toMatchObject([{ action: { do: 'cancel' }, where: { state: 'created' }, door: 'api' }]);
  expect(actions[0]!.id).toMatch(/^.{14}8/); // made of the key of the request: sent twice, it is started once
  await page.click('See how far it is', 'dialog');
  await page.until(`document.querySelector('h1').textContent === 'Bulk action ${actions[0]!.id}'`);
  await page.shows('counting');
  await world.database.pool.query(`update bulk_action set due_at = clock() - interval '1 minute'`);
  await page.shows('It waits for a worker: none runs.');
  expect(await page.take('Stop', 'main', 'Stopped.')).toBe('Stop after 0 of 0 tasks: cancel waiting tasks of items?');
  await page.shows('stopped');
  expect(await world.client.bulk.get(actions[0]!.id)).toMatchObject({ state: 'stopped', done: 0 });
  expect(await page.violations()).toEqual([]);
  expect(page.complaints).toEqual([]);
});
