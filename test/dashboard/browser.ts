import { readFileSync, writeFileSync } from 'node:fs';
import type { Tab } from '../attacks/browser/devtools';
import type { Chromium } from '../attacks/browser/chromium';
import { eventually } from '../helpers/eventually';

/** A page of the dashboard in a real Chromium, as a test uses it. */

interface Evaluated {
  result: { value: unknown };
  exceptionDetails?: { text: string; exception?: { description?: string } };
}
export interface Size {
  width: number;
  height: number;
}
interface Taking {
  now?: RegExp | undefined;
  given?: Readonly<Record<string, string>>;
}
export const DESK: Size = { width: 1200, height: 760 };
export const PHONE: Size = { width: 390, height: 800 };

const AXE = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

export class Page {
  /** What the page wrote to the console as a warning or an error, and requests that failed. */
  readonly complaints: string[] = [];
  /** Every address that the page asked for. */
  readonly asked: string[] = [];
  /** Bytes of all answers, as they were sent: zipped, with headers. */
  receivedBytes = 0;

  private constructor(
    private readonly tab: Tab,
    private readonly origin: string,
  ) {}

  static async open({ devtools }: Chromium, origin: string): Promise<Page> {
    const tab = await devtools.open();
    const page = new Page(tab, origin);
    tab.on('Runtime.exceptionThrown', ({ exceptionDetails }: Pick<Required<Evaluated>, 'exceptionDetails'>) => {
      page.complaints.push(exceptionDetails.exception?.description ?? exceptionDetails.text);
    });
    tab.on('Log.entryAdded', ({ entry }: { entry: { level: string; text: string; url?: string } }) => {
      if (entry.level === 'error' || entry.level === 'warning')
        page.complaints.push(`${entry.text} ${entry.url ?? ''}`);
    });
    tab.on('Runtime.consoleAPICalled', ({ type, args }: { type: string; args: { value?: unknown }[] }) => {
      page.complaints.push(`${type}: ${args.map(({ value }) => String(value)).join(' ')}`);
    });
    tab.on('Network.requestWillBeSent', ({ request }: { request: { url: string } }) => {
      page.asked.push(request.url);
    });
    tab.on('Network.loadingFinished', ({ encodedDataLength }: { encodedDataLength: number }) => {
      page.receivedBytes += encodedDataLength;
    });
    for (const domain of ['Page', 'Runtime', 'Log', 'Network']) await tab.send(`${domain}.enable`);
    await page.look(DESK);
    return page;
  }

  /** Chooses the size of the window and the colours. */
  async look({ width, height }: Size, scheme: 'light' | 'dark' = 'light'): Promise<void> {
    await this.tab.send('Emulation.setDeviceMetricsOverride', {
      width,
      height,
      deviceScaleFactor: 1,
      mobile: width < 500,
    });
    const features = [{ name: 'prefers-color-scheme', value: scheme }];
    await this.tab.send('Emulation.setEmulatedMedia', { features });
  }

  /** Loads the dashboard anew at a place such as `#/lanes`. */
  async load(place = ''): Promise<void> {
    const loaded = new Promise<void>((resolve) => this.tab.on('Page.loadEventFired', () => resolve()));
    await this.tab.send('Page.navigate', { url: 'about:blank' });
    await loaded;
    const shown = new Promise<void>((resolve) => this.tab.on('Page.loadEventFired', () => resolve()));
    await this.tab.send('Page.navigate', { url: `${this.origin}/${place}` });
    await shown;
  }

  /** Answers these paths in place of the API until others are named, promises once they resolve. */
  async answer(answers: Readonly<Record<string, unknown>>, responseCode = 200): Promise<void> {
    const responseHeaders = [{ name: 'content-type', value: 'application/json' }];
    this.tab.on('Fetch.requestPaused', ({ requestId, request }: { requestId: string; request: { url: string } }) => {
      const given = answers[new URL(request.url).pathname];
      if (given === undefined) return void this.tab.send('Fetch.continueRequest', { requestId });
      void Promise.resolve(given).then((answer) => {
        const body = Buffer.from(JSON.stringify(answer)).toString('base64');
        return this.tab.send('Fetch.fulfillRequest', { requestId, responseCode, responseHeaders, body });
      });
    });
    await this.tab.send('Fetch.enable', { patterns: [{ urlPattern: '*' }] });
  }

  /** Goes to a place by its address, as a link does, and waits for its name. */
  async go(place: string, title: string): Promise<void> {
    await this.run(`location.hash = ${JSON.stringify(place)}`);
    await this.until(`document.querySelector('h1')?.textContent === ${JSON.stringify(title)}`, `title ${title}`);
  }

  async run<T>(expression: string): Promise<T> {
    const { result, exceptionDetails } = await this.tab.send<Evaluated>('Runtime.evaluate', {
      expression,
      awaitPromise: true,
      returnByValue: true,
      userGesture: true,
    });
    if (exceptionDetails !== undefined)
      throw new Error(`${expression}: ${exceptionDetails.exception?.description ?? exceptionDetails.text}`);
    return result.value as T;
  }

  /** Waits until an expression is true on the page. */
  async until(expression: string, what = expression): Promise<void> {
    await eventually(() => this.run<boolean>(`Boolean(${expression})`), {
      timeoutMs: 30_000,
      everyMs: 50,
      what: async () => `${what} on the page:\n${await this.text()}`,
    });
  }

  text(): Promise<string> {
    return this.run(`document.body.innerText`);
  }
  async shows(text: string): Promise<void> {
    await this.until(`document.body.innerText.includes(${JSON.stringify(text)})`, text);
  }

  /** Clicks on the first button or link with this text that can be clicked. */
  async click(text: string, within = 'body'): Promise<void> {
    const all = JSON.stringify(`${within} button, ${within} a`);
    const isIt = `(one) => one.textContent.trim() === ${JSON.stringify(text)} && !one.disabled`;
    const find = `[...document.querySelectorAll(${all})].find(${isIt})`;
    await this.until(find, `a button ${text}`);
    await this.run(`${find}.click()`);
  }

  async type(selector: string, text: string): Promise<void> {
    const field = `document.querySelector(${JSON.stringify(selector)})`;
    await this.until(field);
    await this.run(`${field}.focus()`);
    await this.until(`document.activeElement === ${field}`);
    await this.tab.send('Input.insertText', { text });
  }

  async press(key: string, code: number): Promise<void> {
    const event = { key, code: key, windowsVirtualKeyCode: code, ...(key === 'Enter' ? { text: '\r' } : {}) };
    await this.tab.send('Input.dispatchKeyEvent', { type: 'keyDown', ...event });
    await this.tab.send('Input.dispatchKeyEvent', { type: 'keyUp', ...event });
  }

  /**
   * Takes an action to its end: asks, answers what is asked for, and returns the question. `now`:
   * what the dry run must have said.
   */
  async take(label: string, within: string, done: string, { now, given = {} }: Taking = {}): Promise<string> {
    await this.click(label, within);
    return this.answerQuestion(label, done, { now: now ?? /^Now: ./, given });
  }

  /** Answers the question that is open. */
  async answerQuestion(label: string, done: string, { now, given = {} }: Taking): Promise<string> {
    await this.until(`document.querySelector('dialog[open]')`, `the question of ${label}`);
    if (now !== undefined) await this.until(`${now}.test(document.querySelector('dialog .now')?.textContent)`);
    expect([label, await this.violations()]).toEqual([label, []]);
    const question = await this.run<string>(`document.querySelector('dialog h2').textContent`);
    for (const [name, value] of Object.entries(given))
      await this.run(`document.querySelector('dialog [name=${name}]').value = ${JSON.stringify(value)}`);
    await this.click(label, 'dialog');
    await this.shows(done);
    await this.click('Close', 'dialog');
    await this.until(`document.querySelector('dialog') === null`, 'the end of the dialog');
    return question;
  }

  /** Returns what axe finds, one line each. The browser runs it, not the page. */
  async violations(): Promise<string[]> {
    await this.run(`${AXE}; undefined`);
    return this.run(`axe.run(document).then(({ violations }) => violations.map(({ id, help, nodes }) =>
      [id, help, ...nodes.slice(0, 3).map((one) => one.html)].join(' | ')))`);
  }

  async screenshot(file: string): Promise<number> {
    const { data } = await this.tab.send<{ data: string }>('Page.captureScreenshot', { format: 'png' });
    const bytes = Buffer.from(data, 'base64');
    writeFileSync(file, bytes);
    return bytes.length;
  }

  send<T>(method: string, params: object = {}): Promise<T> {
    return this.tab.send<T>(method, params);
  }
  close(): Promise<void> {
    return this.tab.close();
  }
}
