import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { isCurrent, keepState } from '../../workers/buildState';

/** What lets a build be left out: a stale dist/ would test yesterday's program. */

let root: string;
const write = (name: string, text: string): void => {
  const file = path.join(root, name);
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, text);
};
beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), 'muster-build-'));
  const include = ['workflows', 'postgres', 'client', 'test'];
  for (const folder of include) write(`${folder}/inner/a.ts`, folder);
  for (const file of ['package.json', 'package-lock.json', 'tsconfig.json']) write(file, '{}');
  write('tsconfig.build.json', JSON.stringify({ include }));
  for (const file of ['workflows/a.js', 'workers/build.js', 'workers/temporal/bundle.js', 'workers/workflow-bundle.js'])
    write(`dist/${file}`, file);
});
afterEach(() => rmSync(root, { recursive: true }));

const state = () => ({ sources: isCurrent(root, 'sources'), bundle: isCurrent(root, 'bundle') });

test('current after a build, whatever the times of the files; not before the first', () => {
  expect(state()).toEqual({ sources: false, bundle: false });
  keepState(root);
  utimesSync(path.join(root, 'client/inner/a.ts'), 0, 0);
  expect(state()).toEqual({ sources: true, bundle: true });
});

test.each([
  ['workflows/inner/a.ts', { sources: false, bundle: true }],
  ['test/inner/a.ts', { sources: false, bundle: true }],
  ['postgres/migrations/0001.sql', { sources: false, bundle: true }],
  ['tsconfig.json', { sources: false, bundle: true }],
  ['package-lock.json', { sources: false, bundle: false }],
  ['dist/workflows/a.js', { sources: false, bundle: false }],
  ['dist/client/a.js', { sources: false, bundle: true }], // a build that failed half way
  ['dist/build.tsbuildinfo', { sources: true, bundle: true }],
  ['dist/workflows/inner/new.js', { sources: false, bundle: false }],
  ['dist/workers/temporal/bundle.js', { sources: false, bundle: false }],
  ['dist/workers/workflow-bundle.js', { sources: false, bundle: false }],
])('another %s', (file, expected) => {
  keepState(root);
  write(file, 'another');
  expect(state()).toEqual(expected);
});

test('without the bundle it is not current', () => {
  keepState(root);
  rmSync(path.join(root, 'dist/workers/workflow-bundle.js'));
  expect(state()).toEqual({ sources: false, bundle: false });
});
