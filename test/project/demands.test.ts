import { createRequire } from 'node:module';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { read } from './project';
import { testNames } from './testNames';

const { isFull, isSlow } = createRequire(__filename)('../helpers/jest/selection') as Record<
  'isFull' | 'isSlow',
  (text: string) => boolean
>;

/**
 * Prove: test/DEMANDS.md is true: every demand has a line, every line names a test that there is,
 * and one test of each demand is in `npm test`.
 */
const TESTS = path.join(__dirname, '..');
const rows = readFileSync(path.join(TESTS, 'DEMANDS.md'), 'utf8')
  .split('\n')
  .filter((line) => /^\| (?!demand|---)/.test(line))
  .map((line) =>
    line
      .slice(2, -2)
      .split(' | ')
      .map((cell) => cell.trim()),
  )
  .map(([id, file, name]) => ({ id: id!, file: file!, name: name! }));
const textOf = (file: string): string => readFileSync(path.join(TESTS, file), 'utf8');

const numbered = (letter: string, last: number): string[] =>
  Array.from({ length: last }, (_, i) => `${letter}${i + 1}`);
const DEMANDED = [
  ...numbered('A', 20),
  ...numbered('G', 15),
  ...numbered('H', 11),
  ...numbered('D', 15),
  ...numbered('table, row ', 11),
  ...numbered('Build ', 11),
  ...numbered('E', 14),
  ...numbered('I', 21),
  ...numbered('C', 29),
  // B6-B9 and B12 describe the race that leases replace.
  ...numbered('B', 18).filter((id) => !['B6', 'B7', 'B8', 'B9', 'B12'].includes(id)),
];

test('every demand is in the table', () => {
  const named = new Set(rows.map(({ id }) => id));
  expect(DEMANDED.filter((id) => !named.has(id))).toEqual([]);
});

test('docs/internals/demands.md says what each id means', () => {
  const said = new Set([...read('docs/internals/demands.md').matchAll(/^\| ([A-I]\d+) +\| \S/gm)].map(([, id]) => id));
  expect(DEMANDED.filter((id) => /^[A-I]\d+$/.test(id) && !said.has(id))).toEqual([]);
});

test('every line of the table names a test of its file, by its full name', () => {
  const names = new Map([...new Set(rows.map(({ file }) => file))].map((file) => [file, namesIn(file)]));
  expect(rows.filter(({ file, name }) => !names.get(file)!.includes(name))).toEqual([]);
});
const namesIn = (file: string): string[] => (existsSync(path.join(TESTS, file)) ? testNames(textOf(file)) : []);

test('every demand has a test that is in npm test, beside those marked @slow or @full', () => {
  const isLeftOut = (text: string): boolean => isFull(text) || isSlow(text);
  const tested = new Set(rows.filter(({ file }) => !isLeftOut(textOf(file))).map(({ id }) => id));
  expect(DEMANDED.filter((id) => !tested.has(id))).toEqual([]);
});

test('the tests of the demands name them', () => {
  const silent = rows.filter(({ id, file }) => {
    if (!/^[A-EGH]\d+$/.test(id)) return false;
    return !new RegExp(`\\b${id}\\b`).test(textOf(file));
  });
  expect(silent).toEqual([]);
});
