import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';

const { runner } = createRequire(__filename)('../../../jest.config.js') as { runner: string };
const ROOT = path.join(__dirname, '..', '..', '..');

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), 'muster-alone-'));
  mkdirSync(path.join(folder, 'test'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Files that write down when they begin and end; returns what was written. */
const runFiles = (files: Record<string, string>): string[] => {
  const log = path.join(folder, 'log');
  for (const [name, comment] of Object.entries(files))
    writeFileSync(
      path.join(folder, 'test', `${name}.test.js`),
      `${comment}
const { appendFileSync } = require('node:fs');
test('${name}', async () => {
  appendFileSync(${JSON.stringify(log)}, '${name} begins\\n');
  await new Promise((resolve) => setTimeout(resolve, 300));
  appendFileSync(${JSON.stringify(log)}, '${name} ends\\n');
});`,
    );
  writeFileSync(
    path.join(folder, 'jest.config.js'),
    `module.exports = ${JSON.stringify({ transform: {}, runner: runner.replace('<rootDir>', ROOT) })};`,
  );
  const jest = require.resolve('jest/bin/jest');
  execFileSync(process.execPath, [jest, '--maxWorkers', '3', '--rootDir', folder], { cwd: folder, stdio: 'pipe' });
  return readFileSync(log, 'utf8').trim().split('\n');
};

test('a file marked @alone runs after all others, with nothing beside it', () => {
  const lines = runFiles({
    a1: '/** @alone */',
    a2: '/**\n * Measures.\n *\n * @alone\n */',
    b1: '// not @alone',
    b2: '',
    b3: '/** Of @alonely. */',
  });
  expect(lines.slice(0, 6).map((line) => line[0])).toEqual(['b', 'b', 'b', 'b', 'b', 'b']);
  expect(lines.slice(6)).toHaveLength(4);
  for (const at of [6, 8]) expect(lines[at + 1]).toBe(lines[at]!.replace('begins', 'ends'));
});
