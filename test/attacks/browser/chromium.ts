import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { DevTools } from './devtools';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable', 'chrome'];

/** Returns the program of a Chromium on this machine's path; null: there is none. */
export const findChromium = (folders: string): string | null => {
  const places = folders.split(path.delimiter).flatMap((folder) => NAMES.map((name) => path.join(folder, name)));
  return (
    places.find((place) => {
      try {
        accessSync(place, constants.X_OK);
        return true;
      } catch {
        return false;
      }
    }) ?? null
  );
};

/** A name of the attacker's, which leads to this machine. */
export const REBOUND = 'evil.test';

/**
 * Without the browser's own protections of networks at home, which older ones do not have: what is
 * measured is what the servers refuse.
 */
const FLAGS = [
  '--headless=new',
  '--disable-gpu',
  '--no-first-run',
  '--remote-debugging-port=0',
  `--host-resolver-rules=MAP ${REBOUND} 127.0.0.1`,
  '--disable-features=LocalNetworkAccessChecks,BlockInsecurePrivateNetworkRequests,HttpsUpgrades',
];
/** Its sandbox refuses to run for root. */
const AS_ROOT = process.getuid?.() === 0 ? ['--no-sandbox'] : [];

export interface Chromium {
  version: string;
  devtools: DevTools;
  close(): Promise<void>;
}

/** Starts it with an empty profile. */
export const startChromium = async (program: string): Promise<Chromium> => {
  const profile = mkdtempSync(path.join(tmpdir(), 'muster-chromium-'));
  const child = spawn(program, [...FLAGS, ...AS_ROOT, `--user-data-dir=${profile}`, 'about:blank'], {
    stdio: ['ignore', 'ignore', 'pipe'],
    detached: true, // a group with its children, which write to the profile until they are killed, too
  });
  const ended = once(child, 'exit');
  const url = await new Promise<string>((resolve, reject) => {
    let said = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      said += text;
      const found = /DevTools listening on (ws:\S+)/.exec(said);
      if (found !== null) resolve(found[1]!);
    });
    child.once('error', reject);
    child.once('exit', () => reject(new Error(`Cannot start ${program}: ${said.slice(-2_000)}`)));
  });
  const { host } = new URL(url);
  const version = (await (await fetch(`http://${host}/json/version`)).json()) as { Browser: string };
  const devtools = await DevTools.connect(url);
  return {
    version: version.Browser,
    devtools,
    close: async () => {
      devtools.close();
      process.kill(-child.pid!, 'SIGKILL');
      await ended;
      rmSync(profile, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
    },
  };
};
