import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { ROOT } from '../project';

/**
 * What the environment of the tests promises: files of one process share modules of packages, and
 * nothing else.
 */

const FILES = {
  'package.json': '{}',
  'jest.config.js': `module.exports = ${JSON.stringify({
    transform: {},
    maxWorkers: 1,
    testEnvironment: `${ROOT}/test/helpers/jest/environment.js`,
    runtime: `${ROOT}/test/helpers/jest/sharedModules.js`,
  })};`,
  'node_modules/counted/index.js': 'exports.users = [];',
  'own.js': 'exports.users = [];',
};

/** Two files with the same test, so that each finds what the other left. */
const run = (body: string): void => {
  for (const name of ['first', 'second'])
    writeFileSync(
      path.join(folder, `${name}.test.js`),
      `const { users } = require('counted'); const own = require('./own');
       test('${name}', () => { ${body} });`,
    );
  const jest = [require.resolve('jest/bin/jest'), '--runInBand', `--rootDir=${folder}`];
  execFileSync(process.execPath, jest, { cwd: folder, encoding: 'utf8', stdio: 'pipe' });
};

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), 'muster-context-'));
  mkdirSync(path.join(folder, 'node_modules', 'counted'), { recursive: true });
  for (const [name, text] of Object.entries(FILES)) writeFileSync(path.join(folder, name), text);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test('a global, an environment variable and a module of the project are gone with their file', () => {
  run(`expect([globalThis.left, process.env.MUSTER_LEFT, own.users]).toEqual([undefined, undefined, []]);
       Object.assign(globalThis, { left: 1, structuredClone: 1 }); process.env.MUSTER_LEFT = '1'; own.users.push(1);`);
  run(`expect(typeof structuredClone).toBe('function'); globalThis.structuredClone = 1; delete process.env.PATH;`);
  run(`expect(process.env.PATH).toBeDefined(); delete process.env.PATH;`);
});

test('a module of a package is loaded once, in the context that the files run in', () => {
  expect(() => run(`expect(users).toEqual([]); users.push(1);`)).toThrow(/expect\(received\)\.toEqual/);
  run(`expect(users).toBeInstanceOf(Array);
       expect(require('node:vm').runInThisContext('Array')).toBe(Array);`);
});
