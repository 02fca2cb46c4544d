import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { installLocked, installPackage } from './install';

/**
 * The project of a user who tests with vitest: the example of docs/testing.md, as it stands.
 *
 * @slow
 */

test('the package works inside of vitest, from node_modules and untransformed', async () => {
  await installLocked('vitest');
  const folder = await installPackage('vitest');
  const vitest = path.join(folder, 'node_modules', 'vitest', 'vitest.mjs');
  const { stdout } = await promisify(execFile)(process.execPath, [vitest, 'run', '--no-color'], { cwd: folder });
  expect(stdout).toMatch(/Tests +[2-9] passed \(\d\)/);
});
