import { spawn } from 'node:child_process';
import path from 'node:path';

/**
 * The ledger example in short (C1, C9-C11, C16-C18): real ledger and workers, killed in turns, and the ledger's own account compared with
 * one submitter alone. The long form: `npm run example:ledger`.
 */

const RUN = path.join(__dirname, '..', '..', 'dist', 'examples', 'ledger', 'run.js');

interface Result {
  isEqual: boolean;
  isWhole: boolean;
  kills: number;
  lost: number[];
  twice: number[];
  inversions: unknown[];
  wrongPrices: string[];
  violations: unknown[];
  ends: Record<string, number>;
}

const run = (args: readonly string[]): Promise<Result> =>
  new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [RUN, '--json', ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
    let stdout = '';
    let stderr = '';
    child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (stderr = (stderr + chunk.toString()).slice(-4_000)));
    child.once('error', reject);
    child.once('close', () => {
      const line = stdout.trim().split('\n').at(-1) ?? '';
      if (line.startsWith('{')) resolve(JSON.parse(line) as Result);
      else reject(new Error(`no result; stderr ends with:\n${stderr}`));
    });
  });

test.each([
  ['serial', 'one-round'],
  ['parallel', 'per-service'],
])(
  '%s, %s: under kills nothing is lost, applied twice, or overtaken',
  async (approach, strategy) => {
    const size = [
      '--services',
      '6',
      '--batches',
      '60',
      '--submitters',
      '4',
      '--commit-ms',
      '250',
      '--kill-every',
      '1s',
    ];
    const result = await run([...size, '--approach', approach, '--strategy', strategy]);
    expect(result).toMatchObject({ lost: [], twice: [], inversions: [], wrongPrices: [], violations: [], isEqual: true, isWhole: true }); // prettier-ignore
    expect(result.kills).toBeGreaterThan(0);
    expect(Object.values(result.ends).reduce((sum, n) => sum + n, 0)).toBe(60);
  },
  240_000,
);
