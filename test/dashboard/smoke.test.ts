import type { Chromium } from '../attacks/browser/chromium';
import { findChromium, startChromium } from '../attacks/browser/chromium';
import { FORMS, formOf } from '../../workers/dashboard/model/forms';
import { parsePlace } from '../../workers/dashboard/model/place';
import { Page } from './browser';
import { placesOf } from './places';
import { outcomesOf } from './planted';
import type { DashboardWorld } from './world';
import { openDashboard } from './world';

/** Every page once in a real Chromium. Axe, phone, dark and all else: pages.test.ts, marked to be left out. */

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

test('each page has its title and what it is for, with no error on it and a clean console', async () => {
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

test('the overview has figures of now, and a handler how large its batches were and why they were closed', async () => {
  const planted = await Page.open(chromium, world.world.api.url);
  await planted.answer({ '/v1/outcomes': outcomesOf('mail') });
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
});
