import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import type { Chromium } from './chromium';
import { REBOUND } from './chromium';
import type { Tab } from './devtools';
import type { Job } from './jobs';

/** Where a page of the attacker is, and by which name it calls the server. */
export interface Page {
  name: string;
  host: string;
  calls: string;
  /** Its name led to the attacker when it was loaded, and leads to the server now: one origin. */
  isRebound?: boolean;
}

export const PAGES: readonly Page[] = [
  { name: 'another port', host: '127.0.0.1', calls: '127.0.0.1' },
  { name: 'another port, by name', host: 'localhost', calls: 'localhost' },
  { name: 'another name of this machine', host: 'localhost', calls: '127.0.0.1' },
  { name: 'another site', host: REBOUND, calls: '127.0.0.1' },
  { name: 'a name that was rebound', host: REBOUND, calls: REBOUND, isRebound: true },
];

const SCRIPT = readFileSync(path.join(__dirname, 'page.js'), 'utf8');
const HTML = `<!doctype html><meta charset="utf-8"><body><script>${SCRIPT}</script></body>`;
const ATTACK = '/attack';

export interface PageServer {
  port: number;
  close(): Promise<void>;
}

/** Serves the attacker's page. */
export const startPages = async (): Promise<PageServer> => {
  const server = createServer((_, response) => response.writeHead(200, { 'content-type': 'text/html' }).end(HTML));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
};

/** Answers in place of the server while the name still leads to the attacker. */
const answerAtFirst = async (tab: Tab): Promise<void> => {
  tab.on('Fetch.requestPaused', ({ requestId }: { requestId: string }) => {
    const responseHeaders = [{ name: 'content-type', value: 'text/html' }];
    const body = Buffer.from(HTML).toString('base64');
    void tab.send('Fetch.fulfillRequest', { requestId, responseCode: 200, responseHeaders, body });
  });
  await tab.send('Fetch.enable', { patterns: [{ urlPattern: `*${ATTACK}`, resourceType: 'Document' }] });
};

/** Goes to an address, and waits until it is there. */
const visit = async (tab: Tab, url: string): Promise<void> => {
  await tab.send('Page.enable');
  const loaded = new Promise<void>((resolve) => tab.on('Page.loadEventFired', () => resolve()));
  const { errorText } = await tab.send<{ errorText?: string }>('Page.navigate', { url });
  if (errorText !== undefined) throw new Error(`Cannot open ${url}: ${errorText}.`);
  await loaded;
};

const evaluate = async <T>(tab: Tab, expression: string): Promise<T> => {
  interface Evaluated {
    result: { value: T };
    exceptionDetails?: { exception?: { description?: string } };
  }
  const { result, exceptionDetails } = await tab.send<Evaluated>('Runtime.evaluate', {
    expression,
    awaitPromise: true,
    returnByValue: true,
  });
  if (exceptionDetails !== undefined)
    throw new Error(`Cannot evaluate in the page: ${exceptionDetails.exception?.description}`);
  return result.value;
};

/** What the page could read of the answer to a job; null: nothing. */
export interface Read {
  n: number;
  text: string | null;
  /** It had no answer in time: it may not have been sent. */
  isLate: boolean;
}
/** Requests of one evaluation. */
const AT_ONCE = 200;

/** Lets the page send what `jobsOf` makes of its ways, to the server as it calls it. */
export const attackFrom = async (
  { devtools }: Chromium,
  page: Page,
  ports: { readonly server: number; readonly page: number },
  jobsOf: (origin: string, ways: string[]) => Job[],
): Promise<{ jobs: Job[]; read: Read[] }> => {
  const tab = await devtools.open();
  if (page.isRebound === true) await answerAtFirst(tab);
  await visit(tab, `http://${page.host}:${page.isRebound === true ? ports.server : ports.page}${ATTACK}`);
  await tab.send('Fetch.disable');
  const jobs = jobsOf(`http://${page.calls}:${ports.server}`, await evaluate(tab, 'Object.keys(window.ways)'));
  const read: Read[] = [];
  for (let i = 0; i < jobs.length; i += AT_ONCE)
    read.push(...(await evaluate<Read[]>(tab, `window.attack(${JSON.stringify(jobs.slice(i, i + AT_ONCE))})`)));
  await tab.close();
  return { jobs, read };
};
