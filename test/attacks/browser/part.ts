import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Count } from '../tally';
import { findChromium } from './chromium';

/** What the attacks from a browser came to; `untried`: why there were none. */
export interface BrowserPart {
  code: number | null;
  counts: Count[];
  untried: string | null;
}

/**
 * Makes the attacks of `npm run attack:browser` where there is a Chromium in one of these folders,
 * and the form is the long one: they take minutes.
 */
export const attackFromBrowser = async (folders: string, isShort: boolean): Promise<BrowserPart> => {
  if (isShort) return { code: 0, counts: [], untried: 'the short form leaves them out' };
  if (findChromium(folders) === null) return { code: 0, counts: [], untried: 'no Chromium on the PATH' };
  const browser = spawn('npm', ['run', '--silent', 'attack:browser'], { stdio: ['ignore', 'pipe', 'inherit'] });
  let printed = '';
  browser.stdout.setEncoding('utf8').on('data', (text: string) => (printed += text));
  const [code] = (await once(browser, 'close')) as [number | null];
  return { code, counts: countsIn(printed), untried: null };
};

/** Reads counts as they are printed, one line each, what got through indented below its own. */
export const countsIn = (printed: string): Count[] => {
  const counts: Count[] = [];
  for (const line of printed.split('\n')) {
    const [, door, tried] = /^(\S.*?) +(\d+) tried, \d+ got through$/.exec(line) ?? [];
    if (door !== undefined) counts.push({ door, tried: Number(tried), through: [], note: '' });
    else if (line.startsWith('  ')) counts.at(-1)?.through.push(line.trim());
  }
  return counts;
};
