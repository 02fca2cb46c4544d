import { numberFlag, processFlags } from '../../examples/support/flags';
import { startServers } from '../api/servers';
import { openWorld } from '../api/world';
import { findChromium, startChromium } from '../attacks/browser/chromium';
import { fillStore } from '../bench/measures/operationsStore';
import { runToEnd } from '../helpers/runToEnd';
import { Page } from './browser';

/** `npm run bench:dashboard`: how soon pages are there in a large store, and what holds them up. */
const flags = processFlags(
  {
    name: 'npm run bench:dashboard --',
    summary: 'How soon pages of the dashboard are there in a real Chromium, with that many tasks in the store.',
    result: 'One line of JSON per page on stdout. Exit code 1 if a page was painted after 2 s, 2 without a Chromium.',
    examples: ['', '--tasks 1000000 --seconds 30'],
  },
  {
    tasks: numberFlag(100_000, { text: 'tasks in the store; each 50 have a target more', min: 10_000 }),
    seconds: numberFlag(10, { text: 'for which each page is watched', min: 1 }),
  },
);

const MOST_MS = 2_000;
const PAGES = [
  ['overview', '', 'bulk'],
  ['handler with its targets', '#/handlers/bulk', 'bulk 0'],
  ['target', '#/handlers/bulk/targets/bulk%200', 'Next batch'],
  ['tasks', '#/handlers/bulk/tasks?state=created', 'task-0'],
] as const;

interface Measured {
  paintMs: number;
  longTasks: number;
  longestTaskMs: number;
}
/** What the browser itself measured since the page was loaded. */
const MEASURED = `new Promise((resolve) => {
  const tasks = [];
  new PerformanceObserver((list) => tasks.push(...list.getEntries())).observe({ type: 'longtask', buffered: true });
  const [paint] = performance.getEntriesByName('first-contentful-paint');
  setTimeout(() => resolve({
    paintMs: Math.round(paint.startTime),
    longTasks: tasks.length,
    longestTaskMs: Math.round(Math.max(0, ...tasks.map(({ duration }) => duration))),
  }), 200);
})`;

const measurePage = async (page: Page, place: string, shows: string): Promise<object> => {
  await page.load(place);
  await page.shows(shows);
  const shownMs = Math.round(await page.run<number>('performance.now()'));
  await new Promise((resolve) => setTimeout(resolve, flags.seconds * 1_000));
  const measured = await page.run<Measured>(MEASURED);
  if (measured.paintMs > MOST_MS) process.exitCode = 1;
  return { ...measured, shownMs };
};

const main = async (): Promise<void> => {
  const program = findChromium(process.env['PATH'] ?? '');
  if (program === null) {
    process.stderr.write('Cannot find a Chromium: expected chromium or google-chrome on the PATH. Install it.\n');
    process.exitCode = 2;
    return;
  }
  const stop = await startServers();
  const world = await openWorld();
  await fillStore(world.database.pool, flags.tasks);
  const chromium = await startChromium(program);
  const page = await Page.open(chromium, world.api.url);
  const { rows } = await world.database.pool.query<{ n: number }>('select count(*)::int as n from target');
  try {
    for (const [name, place, shows] of PAGES) {
      const measured = await measurePage(page, place, shows);
      process.stdout.write(`${JSON.stringify({ page: name, tasks: flags.tasks, targets: rows[0]!.n, ...measured })}\n`);
    }
  } finally {
    await chromium.close();
    await world.stop();
    await stop();
  }
};

runToEnd(main);
