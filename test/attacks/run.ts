import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { processFlags, switchFlag } from '../../examples/support/flags';
import { runToEnd } from '../helpers/runToEnd';
import { attackFromBrowser } from './browser/part';
import type { Count } from './tally';
import { TALLY_FILE } from './tally';

/** `npm run attack`: every attack of the suite, with what was tried and what got through. */
const flags = processFlags(
  {
    name: 'npm run attack --',
    summary: 'Attacks a running Muster at every door that SECURITY.md names.',
    result: 'How many attacks were tried and got through, by door, on stdout. Exit code 1 if one got through.',
    examples: ['', '--short'],
  },
  { short: switchFlag('as many tries as `npm test` makes') },
);

async function main(): Promise<void> {
  const folder = mkdtempSync(path.join(tmpdir(), 'muster-attacks-'));
  const file = path.join(folder, 'tally');
  try {
    const jest = spawn(process.execPath, [require.resolve('jest/bin/jest'), 'test/attacks'], {
      stdio: ['ignore', 'inherit', 'inherit'],
      env: { ...process.env, [TALLY_FILE]: file, ...(flags.short ? {} : { MUSTER_TEST_LONG: '1' }) },
    });
    const [code] = (await once(jest, 'exit')) as [number | null];
    const browser = await attackFromBrowser(process.env['PATH'] ?? '', flags.short);
    const counts = [...(existsSync(file) ? readCounts(file) : []), ...browser.counts];
    for (const { door, tried, through, note } of counts)
      process.stdout.write(
        `${door.padEnd(54)} ${tried} tried, ${through.length} got through${note === '' ? '' : `; ${note}`}\n`,
      );
    if (browser.untried !== null)
      process.stdout.write(`${'pages of other sites in a browser'.padEnd(54)} not tried: ${browser.untried}\n`);
    const tried = counts.reduce((sum, count) => sum + count.tried, 0);
    const through = counts.flatMap((count) => count.through);
    process.stdout.write(`${'all'.padEnd(54)} ${tried} tried, ${through.length} got through\n`);
    for (const line of through) process.stdout.write(`  ${line}\n`);
    const isPassed = code === 0 && browser.code === 0 && through.length === 0 && tried > 0;
    process.exitCode = isPassed ? 0 : 1;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const readCounts = (file: string): Count[] =>
  readFileSync(file, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Count)
    .sort((a, b) => a.door.localeCompare(b.door));

runToEnd(main);
