import { once } from 'node:events';
import { createServer } from 'node:http';
import type { Server } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { eventually } from '../helpers/eventually';

/**
 * How the page keeps up to date what it shows: its own code, against a server, without a browser.
 */

interface Seen {
  data: { n: number } | null;
  problem: { status: number } | null;
  again: () => void;
}
/** Its types are those of a browser, and in a project of their own. */
interface Page {
  h: (type: unknown, props: object | null, child?: unknown) => unknown;
  render: (node: unknown, root: object) => void;
  useLive: (url: string, everyMs: number) => Seen;
  SessionContext: { Provider: unknown };
}
const loadPage = (): Page => {
  const require = createRequire(__filename);
  return {
    ...(require('preact') as Pick<Page, 'h' | 'render'>),
    ...(require('../../workers/dashboard/api/live') as Pick<Page, 'useLive'>),
    ...(require('../../workers/dashboard/api/session') as Pick<Page, 'SessionContext'>),
  };
};

/** As much of a browser as the code asks for. */
class Browser extends EventTarget {
  hidden = false;
  listeners = 0;

  override addEventListener(...args: Parameters<EventTarget['addEventListener']>): void {
    this.listeners++;
    super.addEventListener(...args);
  }

  override removeEventListener(...args: Parameters<EventTarget['removeEventListener']>): void {
    this.listeners--;
    super.removeEventListener(...args);
  }

  hide(hidden: boolean): void {
    this.hidden = hidden;
    this.dispatchEvent(new Event('visibilitychange'));
  }
}
const browser = new Browser();

let status = 200;
/** By address. */
const asked = new Map<string, number>();
let server: Server;
beforeAll(async () => {
  server = createServer(({ url }, response) => {
    const n = (asked.get(url!) ?? 0) + 1;
    asked.set(url!, n);
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ n }));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  Object.assign(globalThis, { document: browser });
});
afterAll(() => server.close());

let pages = 0;

/** Shows what is at the server; with the last that was shown, and how it is left. */
const show = (everyMs: number) => {
  const { h, render, useLive, SessionContext } = loadPage();
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/${++pages}`;
  const shown: Seen[] = [];
  const ends: string[] = [];
  const session = { ended: () => void ends.push('ended') };
  const part = (): null => {
    shown.push(useLive(url, everyMs));
    return null;
  };
  const root = { childNodes: [], firstChild: null };
  render(h(SessionContext.Provider, { value: session }, h(part, null)), root);
  return { ends, last: () => shown.at(-1)!, leave: () => render(null, root) };
};
let page: ReturnType<typeof show> | null = null;
beforeEach(() => void (status = 200));
afterEach(async () => {
  page?.leave();
  await eventually(() => browser.listeners === 0, { what: 'the page to be left' });
});

test('what is read is shown, and read again by itself', async () => {
  page = show(10);
  const { last } = page;
  expect(last()).toMatchObject({ data: null, problem: null });
  await eventually(() => (last().data?.n ?? 0) >= 3, { timeoutMs: 10_000 });
});

test('it is read at once when that is asked for, and when the page is visible again', async () => {
  page = show(3_600_000);
  const { last } = page;
  const reads = (n: number) => eventually(() => last().data?.n === n, { timeoutMs: 10_000 });
  await reads(1);
  last().again();
  await reads(2);
  browser.hide(true);
  last().again();
  browser.hide(false);
  await reads(3);
});

test('while the API gives no answer, the last one stays, with the problem, until there is another', async () => {
  page = show(10);
  const { last } = page;
  await eventually(() => last().data !== null, { timeoutMs: 10_000 });
  status = 503;
  await eventually(() => last().problem?.status === 503, { timeoutMs: 10_000 });
  expect(last().data).not.toBeNull();
  status = 200;
  await eventually(() => last().problem === null, { timeoutMs: 10_000 });
});

test('a session that is not valid any more is told to end, and shows nothing', async () => {
  status = 401;
  page = show(10);
  const { last, ends } = page;
  await eventually(() => ends.length > 0, { timeoutMs: 10_000 });
  expect([ends, last().data]).toEqual([['ended'], null]);
});
