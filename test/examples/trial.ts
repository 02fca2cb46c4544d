import { spawn } from 'node:child_process';
import { distPath } from './paths';

/**
 * Runs an example that ends by itself, such as `ledger`, and answers its result and its exit code.
 */
export const runTrial = <R = Record<string, unknown>>(
  example: string,
  args: readonly string[],
): Promise<R & { code: number | null }> =>
  new Promise((resolve, reject) => {
    const script = distPath(`examples/${example}/run.js`);
    const child = spawn(process.execPath, [script, '--json', ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
    let stdout = '';
    let stderr = '';
    child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (stderr = (stderr + chunk.toString()).slice(-4_000)));
    child.once('error', reject);
    child.once('close', (code) => {
      const line = stdout.trim().split('\n').at(-1) ?? '';
      if (line.startsWith('{')) resolve({ ...(JSON.parse(line) as R), code });
      else reject(new Error(`no result; stderr ends with:\n${stderr}`));
    });
  });
