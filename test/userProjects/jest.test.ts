import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { testServerPath } from '../helpers/database';
import { ROOT } from '../project/project';
import { installPackage } from './install';

/**
 * The project of a user who tests with jest: the examples of docs/testing.md, as they stand.
 *
 * @slow
 */

test('the package works inside of jest, from node_modules and untransformed', async () => {
  const folder = await installPackage('jest');
  const jest = path.join(ROOT, 'node_modules', 'jest', 'bin', 'jest.js');
  const { stderr } = await promisify(execFile)(process.execPath, [jest, '--ci'], {
    cwd: folder,
    env: { ...process.env, TEMPORAL_TEST_SERVER: testServerPath() },
  });
  expect(stderr).toMatch(/Tests: +\d+ passed, \d+ total/);
});
