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
    slow: '/** Installs. @slow */',
    both: '/**\n * Measures.\n *\n * @alone @full\n */',
    'room/fuller': '/** Of @fuller. */',
    'room/full': '/**\n * Kills.\n *\n * @full\n */',
    'room/slow': '/**\n * Serves.\n *\n * @slow\n */',
  };
  for (const [name, comment] of Object.entries(files))
    writeFileSync(path.join(folder, 'test', `${name}.test.js`), `${comment}\ntest('${name}', () => undefined);`);
  const config = { transform: {}, filter: filter.replace('<rootDir>', ROOT) };
  writeFileSync(path.join(folder, 'jest.config.js'), `module.exports = ${JSON.stringify(config)};`);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Returns the files that jest would run, as `npm test` calls it. */
const selected = (...args: string[]): string[] => selectedBy({}, args);
/** Returns the files that jest would run with this in its environment, too. */
const selectedBy = (env: Record<string, string>, args: readonly string[] = []): string[] => {
  const jest = [require.resolve('jest/bin/jest'), '--listTests', `--rootDir=${folder}`, ...args];
  const { MUSTER_TEST_SLOW: _, ...own } = process.env; // this test may run in CI
  const listed = execFileSync(process.execPath, jest, { cwd: folder, encoding: 'utf8', env: { ...own, ...env } });
  const names = listed.trim().split('\n');
  return names.map((name) => path.relative(path.join(folder, 'test'), name).replace('.test.js', '')).sort();
};
const ALL = ['both', 'full', 'plain', 'room/full', 'room/fuller', 'room/slow', 'said', 'slow'];
const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };

test('CI runs the files marked @slow, too', () => {
  expect(scripts['test:ci']).toBe('MUSTER_TEST_SLOW=1 jest');
  expect(scripts['check']).toMatch(/ && npm run test:ci$/);
  expect(read('.ci/run')).toMatch(/^npm ci\nnpm run check$/m);
  expect(selectedBy({ MUSTER_TEST_SLOW: '1' })).toEqual(['plain', 'room/fuller', 'room/slow', 'said', 'slow']);
});

test('`npm test` leaves out the files marked @slow or @full, `npm run test:full` runs all', () => {
  expect([scripts['test'], scripts['test:full']]).toEqual(['jest', 'MUSTER_TEST_SLOW=1 jest --skipFilter']);
  expect(selected()).toEqual(['plain', 'room/fuller', 'said']);
  expect(selected('--maxWorkers', '2')).toEqual(selected());
  expect(selected('--skipFilter')).toEqual(ALL);
});

test('what is asked for by name runs, marked or not', () => {
  expect(selected('room')).toEqual(['room/full', 'room/fuller', 'room/slow']);
  expect(selected('-t', 'both')).toEqual(ALL); // a test's name may be in any file
});
