import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import { read, ROOT } from '../project';

const { filter } = createRequire(__filename)('../../../jest.config.js') as { filter: string };

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), 'muster-selection-'));
  mkdirSync(path.join(folder, 'test', 'room'), { recursive: true });
  const files = {
    plain: '',
    said: '// not @full',
    full: '/** @full */',
    both: '/**\n * Measures.\n *\n * @alone @full\n */',
    'room/fuller': '/** Of @fuller. */',
    'room/full': '/**\n * Kills.\n *\n * @full\n */',
  };
  for (const [name, comment] of Object.entries(files))
    writeFileSync(path.join(folder, 'test', `${name}.test.js`), `${comment}\ntest('${name}', () => undefined);`);
  const config = { transform: {}, filter: filter.replace('<rootDir>', ROOT) };
  writeFileSync(path.join(folder, 'jest.config.js'), `module.exports = ${JSON.stringify(config)};`);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Returns the files that jest would run, as `npm test` and `npm run test:full` call it. */
const selected = (...args: string[]): string[] => {
  const jest = [require.resolve('jest/bin/jest'), '--listTests', `--rootDir=${folder}`, ...args];
  const listed = execFileSync(process.execPath, jest, { cwd: folder, encoding: 'utf8' });
  const names = listed.trim().split('\n');
  return names.map((name) => path.relative(path.join(folder, 'test'), name).replace('.test.js', '')).sort();
};
const ALL = ['both', 'full', 'plain', 'room/full', 'room/fuller', 'said'];

test('`npm test` leaves out the files marked @full, `npm run test:full` runs all', () => {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
  expect([scripts['test'], scripts['test:full']]).toEqual(['jest', 'jest --skipFilter']);
  expect(selected()).toEqual(['plain', 'room/fuller', 'said']);
  expect(selected('--maxWorkers', '2')).toEqual(selected());
  expect(selected('--skipFilter')).toEqual(ALL);
});

test('what is asked for by name runs, marked or not', () => {
  expect(selected('room')).toEqual(['room/full', 'room/fuller']);
  expect(selected('-t', 'both')).toEqual(ALL); // a test's name may be in any file
});
