import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { format, resolveConfig } from 'prettier';
import type { Chromium } from './chromium';
import type { Asked } from './jobs';
import { jobsAt } from './jobs';
import { attackFrom, PAGES } from './pages';
import type { Sent } from './recorder';
import { startRecorder, telling } from './recorder';

const FILE = path.join(__dirname, 'sent.json');

/** Returns what a browser was recorded to send, per page and way of sending. */
export const recorded = (): Sent[] => JSON.parse(readFileSync(FILE, 'utf8')) as Sent[];

export const keep = async (sent: readonly Sent[]): Promise<void> =>
  writeFileSync(FILE, await format(JSON.stringify(sent), { ...(await resolveConfig(FILE)), filepath: FILE }));

const ASKED: readonly Asked[] = ['GET', 'POST', 'PUT'].map((method) => ({
  what: method,
  method,
  path: `/${method}`,
  body: '{}',
  isOpen: true,
  isEndless: false,
}));

/**
 * Lets each page send in each way to a server that refuses nothing, and returns what came. Fails
 * where nothing did: a way that sends nothing attacks nothing.
 */
export const record = async (chromium: Chromium, pagePort: number): Promise<Sent[]> => {
  const found = new Map<string, Sent>();
  for (const page of PAGES) {
    const recorder = await startRecorder();
    const { jobs } = await attackFrom(chromium, page, { server: recorder.port, page: pagePort }, (origin, ways) =>
      jobsAt(origin, ASKED, ways).map((job) => ({ ...job, url: `${job.url}/${job.n}` })),
    );
    for (const { n, way, method: wanted } of jobs) {
      const came = recorder.requests.filter(({ path: asked }) => asked.split('?')[0]!.endsWith(`/${n}`));
      if (came.length === 0) throw new Error(`Cannot attack by ${way} ${wanted} from ${page.name}: nothing arrived.`);
      for (const { method, headers } of came) {
        const sent = {
          page: page.name,
          way,
          method,
          headers: telling(headers, { server: recorder.port, page: pagePort }),
        };
        found.set(JSON.stringify(sent), sent);
      }
    }
    await recorder.close();
  }
  return [...found].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, sent]) => sent);
};

/** Returns one line per request that only one of both has. */
export const differences = (before: readonly Sent[], after: readonly Sent[]): string[] => {
  const [old, now] = [before, after].map((all) => new Set(all.map((sent) => JSON.stringify(sent))));
  return [
    ...[...old!].filter((one) => !now!.has(one)).map((one) => `no longer sent: ${one}`),
    ...[...now!].filter((one) => !old!.has(one)).map((one) => `sent, and not recorded: ${one}`),
  ];
};
