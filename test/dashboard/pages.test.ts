import { mkdirSync } from 'node:fs';
import path from 'node:path';
import type { Chromium } from '../attacks/browser/chromium';
import { findChromium, startChromium } from '../attacks/browser/chromium';
import { eventually } from '../helpers/eventually';
import { ROOT } from '../project/project';
import { DESK, Page, PHONE } from './browser';
import { placesOf } from './places';
import type { DashboardWorld } from './world';
import { openDashboard } from './world';

/**
 * Every page and action in a real Chromium: the console stays clean, axe finds nothing, nothing is
 * asked of another host. Writes the screenshots of docs/dashboard with MUSTER_SCREENSHOTS set.
 *
 * @full
 */

let chromium: Chromium;
let world: DashboardWorld;
let page: Page;
beforeAll(async () => {
  const program = findChromium(process.env['PATH'] ?? '');
  if (program === null) throw new Error('Cannot find a Chromium on the PATH. Install it, or leave out this file.');
  [chromium, world] = await Promise.all([startChromium(program), openDashboard({ open: true })]);
  page = await Page.open(chromium, world.world.api.url);
  await page.load();
});
afterAll(async () => {
  await page.close();
  await chromium.close();
  await world.stop();
});

const SHOTS = process.env['MUSTER_SCREENSHOTS'];
/** Most bytes of a page as taken; those kept in docs have 128 colours, and a third of that. */
const MOST_BYTES = 200_000;
/** Those that docs/dashboard.md shows. */
const SHOWN = ['overview', 'target', 'tasks', 'task', 'lane', 'nodes', 'redrive', 'bulk'];
const shot = async (name: string): Promise<void> => {
  if (SHOTS === undefined || !SHOWN.includes(name)) return;
  const folder = path.join(ROOT, 'docs', 'dashboard');
  mkdirSync(folder, { recursive: true });
  expect(await page.screenshot(path.join(folder, `${name}.png`))).toBeLessThan(MOST_BYTES);
};

test('each page shows what it is for, cleanly, in light and dark, on a desk and a phone', async () => {
  for (const [name, place, title, shows] of placesOf(world)) {
    await page.look(DESK);
    await page.go(place, title);
    for (const text of shows) await page.shows(text);
    expect([name, await page.violations()]).toEqual([name, []]);
    await shot(name);
    await page.look(DESK, 'dark');
    expect([name, await page.violations()]).toEqual([name, []]);
    await page.look(PHONE);
    expect([name, await page.run('document.documentElement.scrollWidth')]).toEqual([name, PHONE.width]);
  }
  await page.look(DESK);
  expect(page.complaints).toEqual([]);
  expect(page.asked.filter((url) => url !== 'about:blank' && !url.startsWith(world.world.api.url))).toEqual([]);
});

const state = async (id: string): Promise<string | undefined> => (await world.muster.client.getTask(id))?.state;

test('the overview has an hour of each handler as a line', async () => {
  await page.go('#/', 'Overview');
  await page.until(`document.querySelector('.spark[aria-label^="140 succeeded, 7 did not"]')`);
});

test('each action asks how many and which, and does it', async () => {
  const { client } = world.muster;
  await page.go('#/handlers/index-city', 'index-city');
  expect(await page.take('Pause', 'main', 'Paused.')).toBe('Pause handler index-city?');
  await page.shows('paused by hand');
  expect(await page.take('Resume', 'main', 'Resumed.')).toBe('Resume handler index-city?');
  await page.go('#/handlers/thumbnails/targets/eu-1', 'eu-1');
  await page.shows('37 of 100');
  expect(await page.take('Flush', 'main', '37 tasks of 1 target are due.')).toBe(
    'Flush target eu-1 of thumbnails: 37 waiting tasks?',
  );
  await client.waitFor(['image-1', 'image-37']);
  await page.go('#/handlers/index-city/tasks?state=dead', 'Tasks of index-city');
  await page.shows('dead-4');
  await page.run(`document.querySelector('[aria-label="Choose dead-4"]').click()`);
  expect(await page.take('Redrive selected', 'main', '1 task waits again.')).toBe(
    'Redrive 1 dead task of handler index-city: dead-4?',
  );
  await page.go('#/handlers/mail/tasks?state=created', 'Tasks of mail');
  await page.shows('mail-2');
  // Both before the page has shown the first.
  const choose = ['mail-1', 'mail-2'].map((id) => `document.querySelector('[aria-label="Choose ${id}"]').click()`);
  await page.run(choose.join(';'));
  expect(await page.take('Cancel selected', 'main', '2 tasks cancelled, 0 not.')).toBe(
    'Cancel 2 tasks: mail-1, mail-2?',
  );
  expect([await state('mail-1'), await state('mail-2'), await state('mail-3')]).toEqual([
    'cancelled',
    'cancelled',
    'created',
  ]);
  await page.go('#/tasks/charge-1', 'charge-1');
  await page.shows('connection reset');
  expect(await page.take('It succeeded', 'main', '1 task resolved.')).toBe('Resolve 1 parked task: charge-1?');
  expect(await state('charge-1')).toBe('succeeded');
  const parked = (await client.getTask('charge-2'))!.batch!;
  await page.go(`#/batches/${parked}`, `Batch ${parked}`);
  await page.take('It failed', 'main', '5 tasks resolved.');
  expect(await state('charge-6')).toBe('failed');
});

/** The bulk action to which the page was led, once it has ended. */
const endOfBulk = async (): Promise<unknown> => {
  await page.until(`document.querySelector('h1').textContent.startsWith('Bulk action ')`);
  const id = (await page.run<string>(`document.querySelector('h1').textContent`)).replace('Bulk action ', '');
  const { state, done, where } = await eventually(async () => {
    const view = await world.muster.client.bulk.get(id);
    return view?.state === 'done' && view;
  });
  await page.shows('done');
  return { state, done, where };
};

test('errors, and all tasks of a list, are redriven by a bulk action that counts first', async () => {
  await page.go('#/errors', 'Errors');
  await page.shows('no such country');
  const row = 'tr:has(td[title="no such country"])';
  await page.click('Redrive all', row);
  await page.shows('Redrive all failed tasks of index-city with the error “no such country”?');
  await page.until(`/^3 tasks match now: bad-\\d, bad-\\d, bad-\\d\\.$/m.test(document.body.innerText)`);
  expect(await page.violations()).toEqual([]);
  await shot('redrive');
  await page.click('Redrive all', 'dialog');
  await page.shows('Started.');
  await page.click('See how far it is', 'dialog');
  expect(await endOfBulk()).toMatchObject({ done: 3, where: { state: 'failed', errorGroup: 'no such country' } });
  await page.go('#/handlers/index-city/tasks?state=dead&error=502', 'Tasks of index-city');
  await page.shows('dead-1');
  await page.click('Redrive all', 'main');
  await page.shows('Redrive all dead tasks of index-city whose error contains “502”?');
  await page.click('Redrive all', 'dialog');
  await page.click('See how far it is', 'dialog');
  expect(await endOfBulk()).toMatchObject({ done: 4, where: { state: 'dead', error: '502' } });
  // Where nothing matches, nothing can be started.
  await page.go('#/handlers/index-city/tasks?state=dead&error=none-has-this', 'Tasks of index-city');
  await page.click('Redrive all', 'main');
  await page.shows('No task matches now.');
  expect(await page.run(`document.querySelector('dialog button[type=submit]').disabled`)).toBe(true);
  await page.click('Leave it', 'dialog');
});

test('a callback that was given up is sent again, by itself or with all others', async () => {
  await page.go('#/callbacks', 'Undelivered callbacks');
  expect(await page.take('Send again', 'main', 'Due at once: 1 callback.')).toMatch(/^Send callback \d+ again\?$/);
  await eventually(() => world.tried() === 2);
  expect(await page.take('Send all given up', 'main', 'Due at once: 1 callback.')).toBe(
    'Send all callbacks again that were given up?',
  );
  await eventually(() => world.tried() === 3);
});

test('lanes, executions and nodes are steered, and the reason of a pause is seen by all', async () => {
  const { client } = world.muster;
  const { haltedBy } = await client.lane('po-17');
  await page.go('#/lanes/po-17', 'po-17');
  expect(await page.take('Skip batch', 'main', 'Done.')).toBe(`Go on in lane po-17 without batch ${haltedBy}?`);
  await page.click('Pause lane', 'main');
  await page.type('dialog[open] input', 'the ledger is being closed');
  await page.click('Pause lane', 'dialog');
  await page.click('Close', 'dialog');
  await page.shows('the ledger is being closed');
  await page.take('Resume lane', 'main', 'Done.');
  await page.go('#/lanes', 'Lanes');
  expect(await page.take('Pause all lanes', 'main', 'Done.')).toBe('Pause all 4 lanes?');
  await page.take('Resume all lanes', 'main', 'Done.');
  await page.go('#/nodes', 'Nodes');
  await page.take('Drain', 'main', 'Done.');
  await page.shows('drained');
  await page.take('Undo drain', 'main', 'Done.');
  const { id } = await client.execute({ functionId: 'resize', method: 'run', config: { numberOfNodes: 9 } }, [
    ['d.png'],
  ]);
  await page.go(`#/executions/${id}`, id);
  await page.take('Cancel execution', 'main', 'Done.');
  expect((await client.execution(id).status()).state).toBe('cancelled');
  const verbs = (await client.audit.list({ limit: 50 })).filter(({ door }) => door === 'api').map(({ verb }) => verb);
  expect([...new Set(verbs)].sort()).toEqual([
    'bulk redrive',
    'cancel',
    'drain',
    'flush',
    'pause',
    'redrive',
    'resolve',
    'resume',
    'send',
    'skip',
  ]);
  expect(page.complaints).toEqual([]);
});

test('a keyboard is enough: to a task by its id, into a question and out of it', async () => {
  await page.go('#/', 'Overview');
  await page.type('#find', 'mail-5');
  await page.press('Enter', 13);
  await page.until(`document.querySelector('h1')?.textContent === 'mail-5'`);
  await page.until(`document.activeElement?.id === 'title'`, 'the focus on the name of the page');
  await page.click('Cancel', 'main');
  await page.until(`document.querySelector('dialog')?.contains(document.activeElement)`);
  await page.press('Escape', 27);
  await page.until(`document.querySelector('dialog') === null`);
  expect(await state('mail-5')).toBe('created');
});

test('an address holds filters and page, also after it is loaded anew', async () => {
  await page.load('#/handlers/mail/tasks?state=created&target=example.org');
  await page.shows('letter-1');
  expect(await page.text()).not.toContain('mail-7');
  await page.go('#/handlers/mail/tasks?state=created', 'Tasks of mail');
  await page.click('Next page', 'main');
  await page.until(`location.hash.includes('after=')`);
  await page.shows('First page');
});
