import type { Chromium } from '../attacks/browser/chromium';
import { findChromium, startChromium } from '../attacks/browser/chromium';
import { FORMS, formOf } from '../../workers/dashboard/model/forms';
import { parsePlace } from '../../workers/dashboard/model/place';
import { eventually } from '../helpers/eventually';
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

const state = async (id: string): Promise<string | undefined> => (await world.muster.client.getTask(id))?.state;

/** Buttons of pages: where, which, what the dry run says, and what has become of it. */
interface Click {
  place: string;
  title: string;
  label: string;
  /** Of which parts of the page the button is. */
  within?: string;
  now: RegExp;
  done: string;
  given?: Record<string, string>;
  /** Returns what is read before the click, and compared afterwards. */
  before?: () => Promise<unknown>;
  came: (before: unknown) => Promise<boolean>;
}
const client = () => world.muster.client;
const target = async () => (await client().targets('thumbnails')).find(({ key }) => key === 'eu-1')!;
const handlerOf = async (name: string) => (await client().status(name))[0]!;
const batchOf = async (id: string) => (await client().getTask(id))?.batch ?? null;

const CLICKS: readonly Click[] = [
  {
    ...{ place: '#/handlers/thumbnails/targets/eu-1', title: 'eu-1', label: 'Pause', done: 'Paused.' },
    ...{ now: /^Now: 37 tasks waiting, 0 in open batches, not paused\.$/, given: { reason: 'the disk is full' } },
    came: async () => (await target()).paused?.reason === 'the disk is full',
  },
  {
    ...{ place: '#/handlers/thumbnails/targets/eu-1', title: 'eu-1', label: 'Resume', done: 'Resumed.' },
    ...{ now: /paused \(the disk is full\)\.$/, came: async () => (await target()).paused === null },
  },
  {
    ...{ place: '#/handlers/thumbnails/targets/eu-1', title: 'eu-1', label: 'Set a limit' },
    ...{ now: /^Now: rate none, concurrency\.perTarget /, done: 'concurrency.perTarget: ' },
    given: { limit: 'concurrency.perTarget', value: '2', forMs: '600000' },
    came: async () => {
      const { limits } = await client().limits.get('thumbnails', { target: 'eu-1' });
      const one = limits.find(({ limit }) => limit === 'concurrency.perTarget')!;
      return one.inForce === 2 && one.set?.until != null;
    },
  },
  {
    ...{ place: '#/handlers/thumbnails/targets/eu-1', title: 'eu-1', label: 'Remove limits' },
    ...{ now: /concurrency\.perTarget 2 \(set\)/, done: 'concurrency.perTarget: 2, now ' },
    came: async () =>
      (await client().limits.get('thumbnails', { target: 'eu-1' })).limits.every(({ set }) => set === null),
  },
  {
    ...{ place: '#/handlers/thumbnails', title: 'thumbnails', label: 'Set a limit', now: /^Now: rate none, / },
    ...{ given: { limit: 'items', value: '600', seconds: '60' }, done: 'rate: none, now 600 items per 60 s' },
    came: async () => (await handlerOf('thumbnails')).limitsSet.some(({ limit }) => limit === 'rate'),
  },
  {
    ...{ place: '#/handlers/thumbnails', title: 'thumbnails', label: 'Remove limits', now: /600 items .*\(set\)/ },
    ...{ done: 'rate: ', came: async () => (await handlerOf('thumbnails')).limitsSet.length === 0 },
  },
  {
    ...{ place: '#/handlers/mail', title: 'mail', label: 'Set shared limit', now: /^Now: rate 50 calls per 1 s/ },
    ...{ given: { limit: 'concurrency', value: '2' }, done: 'concurrency: 8, now 2.' },
    came: async () =>
      (await client().sharedLimits.get('smtp-key')).limits.find(({ limit }) => limit === 'concurrency')!.inForce === 2,
  },
  {
    ...{ place: '#/handlers/mail', title: 'mail', label: 'Remove what is set', now: /concurrency 2 \(set\)/ },
    done: 'concurrency: 2, now 8.',
    came: async () => (await client().sharedLimits.get('smtp-key')).limits.every(({ set }) => set === null),
  },
  {
    ...{ place: '#/tasks/dead-1', title: 'dead-1', label: 'Redrive', now: /^Now: 1 dead\.$/, done: '1 task waits' },
    before: () => batchOf('dead-1'),
    came: async (before) => (await state('dead-1')) === 'dead' && (await batchOf('dead-1')) !== before,
  },
  {
    ...{ place: '#/tasks/charge-1', title: 'charge-1', label: 'Send again', now: /^Now: 1 unknown\.$/ },
    ...{ done: '1 task resolved.', before: () => batchOf('charge-1') },
    came: async (before) => (await state('charge-1')) === 'unknown' && (await batchOf('charge-1')) !== before,
  },
  {
    ...{ place: '#/lanes/po-17', title: 'po-17', label: 'Set weight', now: /^Now: halted by batch \d+, .*weight 1\.$/ },
    ...{ given: { weight: '5' }, done: 'Done.', came: async () => (await client().lane('po-17')).weight === 5 },
  },
  {
    ...{
      place: '#/lanes/po-18',
      title: 'po-18',
      label: 'It was applied',
      now: /^Now: halted by batch /,
      done: 'Done.',
    },
    came: async () => (await state('lost-applied')) === 'succeeded' && (await state('then-applied')) === 'succeeded',
  },
  {
    ...{ place: '#/lanes/po-19', title: 'po-19', label: 'Send again', now: /^Now: halted by batch /, done: 'Done.' },
    before: async () => (await client().lane('po-19', { batches: 1 })).batches[0]!.attempts,
    came: async (before) => (await client().lane('po-19', { batches: 1 })).batches[0]!.attempts > Number(before),
  },
  {
    ...{
      place: '#/nodes',
      title: 'Nodes',
      label: 'Move',
      within: '.map',
      now: /^Now: held by .*, not pinned, 0 calls/,
    },
    ...{ done: 'The balancer was told.', came: async () => (await pinned()) !== null },
  },
  {
    ...{ place: '#/', title: 'Overview', label: 'Resume', within: '.findings', done: 'Resumed.' },
    ...{
      now: /^Now: 150 tasks waiting, .*paused \(the SMTP host/,
      came: async () => (await handlerOf('mail')).paused === null,
    },
  },
];
const pinned = async () => (await client().partitions({ handler: 'fleet' }))[0]!.pinnedTo;

/** A cell of the map has its own text; the node is chosen from those that are there. */
const openMove = async (): Promise<Record<string, string>> => {
  await page.until(`document.querySelector('.map .cell')`);
  await page.run(`document.querySelector('.map .cell').click()`);
  return { node: (await client().nodes()).find(({ alive }) => alive)!.id };
};

test('each button says what it would act on, and does that', async () => {
  for (const { place, title, label, within = 'main', now, done, given, before, came } of CLICKS) {
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

test('a batch that waits in a lane is cancelled, and one that is gone is not offered again', async () => {
  const batch = (await batchOf('after-2'))!;
  await page.go(`#/batches/${batch}`, `Batch ${batch}`);
  const question = await page.take('Cancel batch', 'main', 'Done.', { now: /^Now: open, 1 task, 0 calls\.$/ });
  expect(question).toBe(`Cancel batch ${batch} with 1 task?`);
  await eventually(async () => (await state('after-2')) === 'cancelled');
  await page.shows('cancelled');
  expect(await page.run(`document.querySelectorAll('main .actions button').length`)).toBe(0);
});

test('what the API refuses now is not sent, and says why', async () => {
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
