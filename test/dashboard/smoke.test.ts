import type { Chromium } from '../attacks/browser/chromium';
import { findChromium, startChromium } from '../attacks/browser/chromium';
import { FORMS, formOf } from '../../workers/dashboard/model/forms';
import { parsePlace } from '../../workers/dashboard/model/place';
import { Page } from './browser';
import { placesOf } from './places';
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
