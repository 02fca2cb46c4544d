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
    result:
      'One line of JSON per page on stdout, with requests and bytes per minute. Exit code 1 if a page was painted ' +
      'after 2 s, or held up by a task of the browser for longer than --longest; 2 without a Chromium.',
    examples: ['', '--tasks 1000000 --seconds 30'],
  },
  {
    tasks: numberFlag(100_000, { text: 'tasks in the store; each 50 have a target more', min: 10_000 }),
    seconds: numberFlag(10, { text: 'for which each page is watched', min: 1 }),
    longest: numberFlag(200, { text: 'ms that a task of the browser may take while a page is watched', min: 50 }),
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
  /** Tasks of the browser over 50 ms since the page was there, and the longest of them. */
  longTasks: number;
  longestTaskMs: number;
}
/** What the browser itself measured: the paint since the load, long tasks since a time. */
const measuredSince = (sinceMs: number): string => `new Promise((resolve) => {
  const tasks = [];
  new PerformanceObserver((list) => tasks.push(...list.getEntries())).observe({ type: 'longtask', buffered: true });
  const [paint] = performance.getEntriesByName('first-contentful-paint');
  setTimeout(() => {
    const durations = tasks.filter((one) => one.startTime >= ${sinceMs}).map(({ duration }) => duration);
    resolve({
      paintMs: Math.round(paint.startTime),
      longTasks: durations.length,
      longestTaskMs: Math.round(Math.max(0, ...durations)),
    });
  }, 200);
})`;

const perMinute = (n: number): number => Math.round((n * 60) / flags.seconds);

const measurePage = async (page: Page, place: string, shows: string): Promise<object> => {
  await page.load(place);
  await page.shows(shows);
  const shownMs = Math.round(await page.run<number>('performance.now()'));
  const [asked, received] = [page.asked.length, page.receivedBytes];
  await new Promise((resolve) => setTimeout(resolve, flags.seconds * 1_000));
  const watched = {
    requestsPerMinute: perMinute(page.asked.length - asked),
    bytesPerMinute: perMinute(page.receivedBytes - received),
  };
  const measured = await page.run<Measured>(measuredSince(shownMs));
  if (measured.paintMs > MOST_MS || measured.longestTaskMs > flags.longest) process.exitCode = 1;
  return { ...measured, shownMs, ...watched };
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
