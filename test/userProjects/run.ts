import { spawn } from 'node:child_process';
import path from 'node:path';
import { timeSkippingServerBinary } from '../embedded/timeSkippingServer';
import { ROOT } from '../project/project';
import { installLocked, installPackage } from './install';

/**
 * `npm run test:kit`: the tests of projects as users have them, with jest and with vitest, on the
 * package as it is packed. Build first. The packages of the vitest project are installed when they
 * are missing.
 */
const run = (command: string, args: readonly string[], cwd: string, env: NodeJS.ProcessEnv = {}): Promise<void> =>
  new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd, stdio: 'inherit', env: { ...process.env, ...env } });
    child.on('error', reject);
    child.on('exit', (code, signal) => {
      if (code === 0) resolve();
      else reject(new Error(`Cannot go on: ${command} ${args.join(' ')} ended with ${code ?? signal}.`));
    });
  });

const main = async (): Promise<void> => {
  const vitest = path.join(__dirname, 'vitest');
  await installLocked('vitest');
  await installPackage('vitest');
  await run(path.join(vitest, 'node_modules', '.bin', 'vitest'), ['run'], vitest);
  const jest = await installPackage('jest');
  await run(path.join(ROOT, 'node_modules', '.bin', 'jest'), ['--ci'], jest, {
    TEMPORAL_TEST_SERVER: (await timeSkippingServerBinary()).path,
  });
};

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
