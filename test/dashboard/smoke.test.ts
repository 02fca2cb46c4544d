import type { Chromium } from '../attacks/browser/chromium';
import { findChromium, startChromium } from '../attacks/browser/chromium';
import type { Client } from '../../client';
import { readHalves } from '../../postgres/dashboard/halves';
import { FORMS, formOf } from '../../workers/dashboard/model/forms';
import { parsePlace } from '../../workers/dashboard/model/place';
import { eventually } from '../helpers/eventually';
import { Page } from './browser';
import { clicksOf } from './clicks';
import { placesOf } from './places';
import { hourPageOf, outcomesOf } from './planted';
import type { DashboardWorld } from './world';
import { openDashboard } from './world';

/**
 * Every page once in a real Chromium, where there is one; without one as far as that goes: the page
 * and its script are there. Axe, phone and dark: pages.test.ts, which is left out.
 *
 * @slow
 */

let chromium: Chromium;
let world: DashboardWorld;
let page: Page;
const program = findChromium(process.env['PATH'] ?? '');
beforeAll(async () => {
  world = await openDashboard({ open: true });
  if (program === null) return;
  chromium = await startChromium(program);
  page = await Page.open(chromium, world.world.api.url);
  await page.load();
});
afterAll(async () => {
  if (program !== null) {
    await page.close();
    await chromium.close();
  }
  await world.stop();
});

const isServed = async (): Promise<void> => {
  const { url } = world.world.api;
  const script = /src="(assets\/main-\w+\.js)"/.exec(await (await fetch(`${url}/`)).text())![1]!;
  expect((await fetch(`${url}/${script}`)).status).toBe(200);
};
const inBrowser = (name: string, work: () => Promise<void>): void => test(name, program === null ? isServed : work);

inBrowser('each page has its title and what it is for, with no error on it and a clean console', async () => {
  const seen = new Set<string | null>();
  for (const [name, place, title, shows] of placesOf(world)) {
    seen.add(formOf(parsePlace(place).path));
    await page.go(place, title);
    for (const text of shows) await page.shows(text);
    const errors = `[...document.querySelectorAll('.problem')].map((one) => one.textContent)`;
    expect([name, await page.run(errors), page.complaints]).toEqual([name, [], []]);
    expect([name, await page.run('document.title')]).toEqual([name, `${title} · Muster`]);
  }
  // Null: an address that names no page.
  expect([...seen].sort()).toEqual([...FORMS, null].sort());
});

inBrowser(
  'the overview has figures of now, and a handler how large its batches were and why they were closed',
  async () => {
    const planted = await Page.open(chromium, world.world.api.url);
    await planted.answer({ '/v1/outcomes': outcomesOf('mail'), '/dashboard/hour': hourPageOf('mail') });
    await planted.load('#/');
    const cells = `[...document.querySelector('tr:has(a[href="#/handlers/mail"])').cells].map((one) => one.innerText)`;
    const head = `[...document.querySelectorAll('thead th')].map((one) => one.innerText)`;
    await planted.until(`document.querySelector('.spark')`);
    const [names, texts] = [await planted.run<string[]>(head), await planted.run<string[]>(cells)];
    expect([texts[names.indexOf('Calls/s')], texts[names.indexOf('Ends/min')]]).toEqual(['0.7', '4,003']);
    expect(texts[names.indexOf('Waiting')]).toBe('150');
    await planted.go('#/handlers/mail', 'mail');
    await planted.shows('100 batches: 39 size, 61 linger');
    const sizes = `[...document.querySelectorAll('.meter')].map((one) => one.innerText.replace(/\\s+/g, ' '))`;
    expect(await planted.run<string[]>(sizes)).toEqual(
      expect.arrayContaining(['1 task 60 calls', '51 to 100 tasks 38 calls', '101 to 250 tasks 2 calls']),
    );
    expect(await planted.violations()).toEqual([]);
    expect(planted.complaints).toEqual([]);
    await planted.close();
  },
);

const state = async (id: string): Promise<string | undefined> => (await world.muster.client.getTask(id))?.state;

const client = (): Client => world.muster.client;
const batchOf = async (id: string): Promise<number | null> => (await client().getTask(id))?.batch ?? null;

/** A cell of the map has its own text; the node is chosen from those that are there. */
const openMove = async (): Promise<Record<string, string>> => {
  await page.until(`document.querySelector('.map .cell')`);
  await page.run(`document.querySelector('.map .cell').click()`);
  return { node: (await client().nodes()).find(({ alive }) => alive)!.id };
};

inBrowser('each button says what it would act on, and does that', async () => {
  for (const { place, title, label, within = 'main', now, done, given, before, came } of clicksOf(client())) {
    await page.go(place, title);
    const was = await before?.();
    if (label === 'Move') await page.answerQuestion(label, done, { now, given: await openMove() });
    else await page.take(label, within, done, { now, given });
    await eventually(() => came(was), { what: `the effect of ${label} at ${place}` });
  }
  expect(page.complaints).toEqual([]);
  await page.go('#/nodes', 'Nodes');
  await page.until(`document.querySelector('[aria-label="Moves of fleet"] td:nth-of-type(5)')?.innerText`);
});

inBrowser('a batch that waits in a lane is cancelled, and one that is gone is not offered again', async () => {
  const batch = (await batchOf('after-2'))!;
  await page.go(`#/batches/${batch}`, `Batch ${batch}`);
  const question = await page.take('Cancel batch', 'main', 'Done.', { now: /^Now: open, 1 task, 0 calls\.$/ });
  expect(question).toBe(`Cancel batch ${batch} with 1 task?`);
  await eventually(async () => (await state('after-2')) === 'cancelled');
  await page.shows('cancelled');
  expect(await page.run(`document.querySelectorAll('main .actions button').length`)).toBe(0);
});

inBrowser('what the API refuses now is not sent, and says why', async () => {
  const missing = { title: 'No such task', status: 404, detail: 'It was deleted meanwhile.' };
  const refused = await Page.open(chromium, world.world.api.url);
  await refused.answer({ '/v1/handlers/fleet/pause': missing }, 404);
  await refused.load('#/handlers/fleet');
  await refused.click('Pause', 'main');
  await refused.shows('It was deleted meanwhile.');
  expect(await refused.run(`document.querySelector('dialog button[type=submit]').disabled`)).toBe(true);
  await refused.answer({ '/v1/handlers/fleet/pause': { ...missing, status: 503, detail: 'Too busy.' } }, 503);
  await refused.click('Leave it', 'dialog');
  await refused.until(`document.querySelector('dialog') === null`);
  await refused.click('Pause', 'main');
  await refused.shows('Too busy.');
  expect(await refused.run(`document.querySelector('dialog button[type=submit]').disabled`)).toBe(false);
  await refused.close();
});

inBrowser('nothing can be sent before the dry run has answered', async () => {
  const held = await Page.open(chromium, world.world.api.url);
  let release = (_: unknown): void => undefined;
  await held.answer({ '/v1/handlers/fleet/pause': new Promise((resolve) => (release = resolve)) });
  await held.load('#/handlers/fleet');
  await held.click('Pause', 'main');
  await held.shows('Looking…');
  const isDisabled = `document.querySelector('dialog button[type=submit]').disabled`;
  expect(await held.run(isDisabled)).toBe(true);
  await held.run(`document.querySelector('dialog form').requestSubmit()`);
  expect(await held.run(`document.querySelector('dialog .now').textContent`)).toBe('Looking…');
  release({ dryRun: true, operation: 'pauseHandler', would: '', now: (await client().status('fleet'))[0] });
  await held.until(`/^Now: /.test(document.querySelector('dialog .now').textContent)`);
  expect(await held.run(isDisabled)).toBe(false);
  await held.close();
});

inBrowser('a name that no address can have is said to be one, and asks for nothing else', async () => {
  const dots = await Page.open(chromium, world.world.api.url);
  await dots.load('#/handlers/fleet/targets/..');
  await dots.shows('No address can have a name “.” or “..” in it');
  expect(dots.asked.filter((url) => /\/dashboard\/handlers/.test(url))).toEqual([]);
  await dots.close();
});

inBrowser('any batch of a split shows all of it as a tree', async () => {
  const { batches } = await client().batches.list('parse', { state: 'dissolved' });
  const whole = batches.find(({ n }) => n === 8)!.id;
  const last = (await batchOf('poison'))!;
  for (const id of [whole, last]) {
    await page.go(`#/batches/${id}`, `Batch ${id}`);
    await page.until(`document.querySelector('main > .tree > li > .tree > li > .tree > li > .tree > li')`);
    const rows = await page.run<string[]>(
      `[...document.querySelectorAll('.tree a')].map((one) => one.innerText + ' ' + one.getAttribute('aria-current'))`,
    );
    // Eight, two of four, two of two, two single ones.
    expect(rows).toHaveLength(7);
    expect(rows.filter((text) => text.endsWith(' page'))).toEqual([`${id} page`]);
    expect(rows[0]).toMatch(new RegExp(`^${whole} `));
    expect(await page.violations()).toEqual([]);
  }
  // As many as are wanted, the oldest splits first.
  const { pool } = world.muster.database;
  expect((await readHalves(pool, last, 4)).map(({ parent }) => parent).slice(0, 3)).toEqual([null, whole, whole]);
  expect(await readHalves(pool, last, 4)).toHaveLength(4);
  expect((await world.world.call('GET /dashboard/batches/999999/halves')).status).toBe(404);
  await page.go(`#/batches/${world.batch}`, `Batch ${world.batch}`);
  await page.shows('Members');
  expect(await page.text()).not.toContain('Halves');
});

inBrowser('a task links to its trace, and one that has none to nothing', async () => {
  const link = `document.querySelector('main a[href^="https://traces."]')`;
  await page.go('#/tasks/traced-1', 'traced-1');
  await page.until(link);
  expect(await page.run(`[${link}.href, ${link}.rel, ${link}.innerText]`)).toEqual([
    'https://traces.example.com/trace/4bf92f3577b34da6a3ce929d0e0e4736',
    'noreferrer',
    '4bf92f3577b34da6a3ce929d0e0e4736',
  ]);
  await page.go('#/tasks/car-1', 'car-1');
  await page.shows('Payload');
  expect(await page.run(`${link} === null`)).toBe(true);
});

/** What the bars of the next batch say, by their names. */
const meters = async (): Promise<Record<string, string>> =>
  Object.fromEntries(
    await page.run<[string, string][]>(
      `[...document.querySelectorAll('.meter')].map(({ children: [a, , b] }) => [a.innerText, b.innerText])`,
    ),
  );

inBrowser('the bars of the next batch are what the store has, and the linger runs down', async () => {
  const payload = { to: 'eu-2', note: 'as heavy' };
  const wide = ['wide-1', 'wide-22', 'wide-333'].map((id) => ({ id, payload }));
  await client().submit('thumbnails', wide);
  await page.go('#/handlers/thumbnails/targets/eu-2', 'eu-2');
  await page.shows('3 of 100');
  const { rows } = await world.muster.database.pool.query<{ bytes: number; weight: number }>(
    `select (sum(q.bytes) + max(h.overhead_bytes))::int as bytes, sum(q.weight)::int as weight
    from queue q join target t on t.id = q.target_id join handler h on h.id = t.handler_id
    where t.key = 'eu-2'`,
  );
  const { bytes, weight } = rows[0]!;
  const { Bytes, Weight, Linger } = await meters();
  expect([Bytes, Weight]).toEqual([`${bytes} B of 4 kB`, `${weight} of 500`]);
  expect(weight).toBe(3 * payload.note.length);
  const bar = `document.querySelector('progress[aria-label=Linger]').value`;
  const part = await page.run<number>(bar);
  await page.until(`${bar} > ${part + 1_000 / 600_000}`, 'a linger that runs down');
  expect((await meters())['Linger']).not.toBe(Linger);
});

inBrowser('a lane says what each of its batches waits for, with the batches of other lanes', async () => {
  const { batches } = await client().lane('po-20', { batches: 10 });
  const [first, second] = batches;
  expect(first!.dependsOn).toHaveLength(1);
  await page.go('#/lanes/po-20', 'po-20');
  await page.shows('Batches in order');
  const rows = await page.run<string[][]>(
    `[...document.querySelectorAll('main tbody tr')].map((row) => [...row.cells].map((cell) => cell.innerText))`,
  );
  // The two were read at two times: how long a batch has waited may differ.
  const waits = (text: string): string => text.replace(/\(\d+ s\)/g, '(N s)');
  expect(rows.map((cells) => [cells[0], cells[1], waits(cells[6]!)])).toEqual([
    ['1', String(first!.batch), waits(`${first!.explanation} ${first!.dependsOn[0]}`)],
    ['2', String(second!.batch), waits(second!.explanation)],
  ]);
  expect(first!.explanation).toContain(String(first!.dependsOn[0]));
  await page.click(String(first!.dependsOn[0]), 'td.wide');
  await page.until(`document.querySelector('h1').textContent === 'Batch ${first!.dependsOn[0]}'`);
});
