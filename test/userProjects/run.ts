import { spawn } from 'node:child_process';
import { statSync } from 'node:fs';
import path from 'node:path';
import { ROOT } from '../project/project';
import { installPackage } from './install';

/**
 * `npm run test:kit`: the tests of projects as users have them, with jest and with vitest, on the
 * package as it is packed. Build first. The packages of the vitest project are installed when they
 * are missing.
 */
const run = (command: string, args: readonly string[], cwd: string): Promise<void> =>
  new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd, stdio: 'inherit' });
    child.on('error', reject);
    child.on('exit', (code, signal) => {
      if (code === 0) resolve();
      else reject(new Error(`Cannot go on: ${command} ${args.join(' ')} ended with ${code ?? signal}.`));
    });
  });
const modified = (file: string): number => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;

const main = async (): Promise<void> => {
  const vitest = path.join(__dirname, 'vitest');
  const installed = path.join(vitest, 'node_modules', '.package-lock.json');
  if (modified(installed) < modified(path.join(vitest, 'package-lock.json')))
    await run('npm', ['ci', '--no-audit', '--no-fund'], vitest);
  await installPackage('vitest');
  await run(path.join(vitest, 'node_modules', '.bin', 'vitest'), ['run'], vitest);
  const jest = await installPackage('jest');
  await run(path.join(ROOT, 'node_modules', '.bin', 'jest'), ['--ci'], jest);
};

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
