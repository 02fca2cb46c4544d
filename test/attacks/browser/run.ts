import { processFlags, switchFlag, textFlag } from '../../../examples/support/flags';
import { startServers } from '../../api/servers';
import { runToEnd } from '../../helpers/runToEnd';
import type { Chromium } from './chromium';
import { findChromium, startChromium } from './chromium';
import type { Job } from './jobs';
import { jobsAt } from './jobs';
import { attackFrom, PAGES, startPages } from './pages';
import type { Page } from './pages';
import { differences, keep, record, recorded } from './record';
import type { Attacked } from './servers';
import { SECRET, startAttackedApi, startAttackedUi } from './servers';

/** `npm run attack:browser`: pages of other sites, in a real browser. */
const flags = processFlags(
  {
    name: 'npm run attack:browser --',
    summary:
      'Lets pages of other sites, in a real Chromium, send in every way ' +
      'to every route of an open API, of one with tokens, and to the Web UI of `muster dev`.',
    result:
      'How many requests were sent and got through, by server and page, on stdout. ' +
      'Exit code 1 if one changed something or a page could read an answer, or if the browser sends ' +
      'other headers than those in test/attacks/browser/sent.json; 2 without a Chromium.',
    examples: ['', '--record', '--browser /opt/chrome/chrome'],
  },
  {
    browser: textFlag(undefined, {
      text: 'the program',
      as: 'file',
      unset: 'the first Chromium or Chrome on the PATH',
    }),
    record: switchFlag('write what the browser sends to test/attacks/browser/sent.json'),
  },
);

/** A refusal before anything was looked at, or a method that a route does not have. */
const REFUSAL = /"status":(401|403|405|415)\b|^(Host|Origin|Sec-Fetch-Site): expected /;

/** Says what a page achieved by reading; null: nothing. */
const faultOf = ({ isOpen, method, way, what }: Job, text: string | null): string | null => {
  if (text === null || (isOpen && !text.includes(SECRET)) || REFUSAL.test(text)) return null;
  return `${way} ${method} ${what}: the page could read ${JSON.stringify(text.slice(0, 120))}`;
};

/** Prints one line, and returns how many got through. */
const attack = async (chromium: Chromium, attacked: Attacked, page: Page, pagePort: number): Promise<number> => {
  const before = await attacked.seen();
  const { jobs, read } = await attackFrom(chromium, page, { server: attacked.port, page: pagePort }, (origin, ways) =>
    jobsAt(origin, attacked.asked, ways),
  );
  const through = read.flatMap(({ n, text }) => faultOf(jobs[n]!, text) ?? []);
  const late = read.flatMap(({ n, isLate }) => (isLate && !jobs[n]!.isEndless ? [jobs[n]!] : []));
  for (const { way, method, what } of late)
    through.push(`${way} ${method} ${what}: no answer in time, so it may not have been sent`);
  if (read.length !== jobs.length) through.push(`${jobs.length - read.length} requests were not sent`);
  if ((await attacked.seen()) !== before) through.push('something was changed');
  const door = `${attacked.name}: page of ${page.name}`;
  process.stdout.write(`${door.padEnd(54)} ${jobs.length} tried, ${through.length} got through\n`);
  for (const line of through.slice(0, 20)) process.stdout.write(`  ${line}\n`);
  return through.length;
};

/** Says how many of the same requests a program may make: those that a page sends in vain. */
const control = async ({ name, port, asked, program }: Attacked): Promise<boolean> => {
  const changing = asked.filter(({ method }) => method !== 'GET');
  let done = 0;
  for (const { method, path, body } of changing) {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, { method, headers: program, body });
    if (!REFUSAL.test(await answer.text())) done++;
  }
  process.stdout.write(`${`${name}: the same from a program`.padEnd(54)} ${done} of ${changing.length} not refused\n`);
  return done * 2 > changing.length;
};

const attackAll = async (chromium: Chromium, pagePort: number): Promise<boolean> => {
  let through = 0;
  let isMeasured = true;
  for (const start of [() => startAttackedApi('open'), () => startAttackedApi('tokens'), startAttackedUi]) {
    const attacked = await start();
    try {
      for (const page of PAGES) through += await attack(chromium, attacked, page, pagePort);
      isMeasured = (await control(attacked)) && isMeasured;
    } finally {
      await attacked.stop();
    }
  }
  return through === 0 && isMeasured;
};

async function main(): Promise<void> {
  const program = flags.browser ?? findChromium(process.env['PATH'] ?? '');
  if (program === null) {
    process.stderr.write(
      'Cannot find a Chromium: expected chromium or google-chrome on the PATH. ' +
        'Install it (Debian, Ubuntu: apt-get install chromium), or name one by --browser <file>.\n',
    );
    process.exitCode = 2;
    return;
  }
  const chromium = await startChromium(program);
  const pages = await startPages();
  let stop: (() => Promise<void>) | null = null;
  try {
    process.stdout.write(`${chromium.version}\n`);
    const sent = await record(chromium, pages.port);
    if (flags.record) await keep(sent);
    const other = differences(recorded(), sent);
    for (const line of other) process.stdout.write(`${line}\n`);
    process.stdout.write(`${'headers as recorded'.padEnd(54)} ${sent.length} requests, ${other.length} differ\n`);
    stop = await startServers({ fsync: 'off' });
    process.exitCode = (await attackAll(chromium, pages.port)) && other.length === 0 ? 0 : 1;
  } finally {
    await chromium.close();
    await pages.close();
    await stop?.();
  }
}

runToEnd(main);
