import { spawnSync } from 'node:child_process';
import { distPath } from '../../examples/paths';

/** A bench or chaos run that missed its promises must not look like one that kept them. */

test.each([
  ['sets an exit code', 'process.exitCode = 3', 3],
  ['answers false', 'return false', 1],
  ['answers true', 'return true', 0],
  ['answers nothing', '', 0],
  ['fails', "throw new Error('out of tasks')", 1],
])('a run that %s', (_, body, code) => {
  const program = `require(${JSON.stringify(distPath('test/helpers/runToEnd.js'))}).runToEnd(async () => { ${body} })`;
  const { status, stderr } = spawnSync(process.execPath, ['-e', program], { encoding: 'utf8' });
  expect(status).toBe(code);
  expect(stderr.includes('out of tasks')).toBe(body.startsWith('throw'));
});
