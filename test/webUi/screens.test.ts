import { mkdirSync } from 'node:fs';
import path from 'node:path';
import type { Chromium } from '../attacks/browser/chromium';
import { findChromium, startChromium } from '../attacks/browser/chromium';
import { Page } from '../dashboard/browser';
import { ROOT } from '../project/project';
import type { TemporalDev } from '../../workers/embedded';
import { startTemporalDev } from '../../workers/embedded';
import type { ShownWorld } from './world';
import { openShown } from './world';

/**
 * Each of Muster's workflows in the Web UI of a Temporal dev server, as a person sees it. Writes
 * the screenshots of docs/operations/temporal-web-ui with MUSTER_SCREENSHOTS set.
 *
 * @full
 */

const DASHBOARD = 'https://muster.example.com';
let server: TemporalDev;
let chromium: Chromium;
let world: ShownWorld;
let page: Page;
beforeAll(async () => {
  const program = findChromium(process.env['PATH'] ?? '');
  if (program === null) throw new Error('Cannot find a Chromium on the PATH. Install it, or leave out this file.');
  [chromium, server] = await Promise.all([
    startChromium(program),
    startTemporalDev({ ui: true, searchAttributes: { MusterHandler: 'Keyword' } }),
  ]);
  world = await openShown(DASHBOARD, server.address);
  page = await Page.open(chromium, server.uiUrl!);
}, 180_000);
afterAll(async () => {
  await page.close();
  await chromium.close();
  await world.stop();
  await server.stop();
});

const KINDS = ['leader', 'queuer', 'execution', 'monitor', 'completion', 'notifier', 'balancer'] as const;
const SIZE = { width: 1100, height: 980 };
const shot = async (name: string): Promise<void> => {
  if (process.env['MUSTER_SCREENSHOTS'] === undefined) return;
  const folder = path.join(ROOT, 'docs', 'operations', 'temporal-web-ui');
  mkdirSync(folder, { recursive: true });
  await page.screenshot(path.join(folder, `${name}.png`));
};

const open = async (workflowId: string, tab: string): Promise<void> => {
  const temporal = await world.muster.client.temporal();
  const { runId } = await temporal.workflow.getHandle(workflowId).describe();
  await page.look(SIZE);
  await page.load(`namespaces/default/workflows/${encodeURIComponent(workflowId)}/${runId}/${tab}`);
};

/** The page shows Markdown in frames. */
const shows = (text: string): Promise<void> =>
  page.until(
    `[...document.querySelectorAll('iframe')].some(({ contentDocument }) =>
      contentDocument?.body?.innerText.includes(${JSON.stringify(text)}))`,
    text,
  );
const CURRENT = `document.querySelector('#user-metadata-current-details')?.contentDocument`;

test.each(KINDS)('a person sees what the %s is for and does, and gets from there to the dashboard', async (kind) => {
  const temporal = await world.muster.client.temporal();
  const described = await temporal.workflow.getHandle(world.ids[kind]).describe();
  await open(world.ids[kind], 'user-metadata');
  await shows((await described.staticSummary())!);
  await shows('Cancel: ');
  await page.until(`${CURRENT}?.querySelector('a[href^="${DASHBOARD}/#/"]')`, 'a link to the dashboard');
  await shot(kind);
});

test('a person sees at a submitter what it sends', async () => {
  await open(world.ids.queuer, 'pending-activities');
  await page.shows('Heartbeat Details');
  await page.shows('"sending"');
  await shot('submitter');
});
