import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { read } from './project';

/**
 * Prove: test/DEMANDS.md is true: every demand has a line, and every line names words that stand in
 * its file.
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
  .map(([id, file, words]) => ({ id: id!, file: file!, words: words! }));

const numbered = (letter: string, last: number): string[] =>
  Array.from({ length: last }, (_, i) => `${letter}${i + 1}`);
const DEMANDED = [
  ...numbered('A', 20),
  ...['G1', 'G2', 'G3', 'G4', 'G5', 'G6', 'G9', 'G11', 'G12', 'G13', 'G14'],
  ...numbered('H', 11),
  ...numbered('D', 15),
  ...numbered('table, row ', 11),
  ...numbered('Build ', 11),
  ...numbered('E', 14),
  ...numbered('C', 29),
  // B6-B9 and B12 describe the race that leases replace.
  ...numbered('B', 18).filter((id) => !['B6', 'B7', 'B8', 'B9', 'B12'].includes(id)),
];

test('every demand is in the table', () => {
  const named = new Set(rows.map(({ id }) => id));
  expect(DEMANDED.filter((id) => !named.has(id))).toEqual([]);
});

test('docs/internals/demands.md says what each id means', () => {
  const said = new Set([...read('docs/internals/demands.md').matchAll(/^\| ([A-H]\d+) +\| \S/gm)].map(([, id]) => id));
  expect(DEMANDED.filter((id) => /^[A-H]\d+$/.test(id) && !said.has(id))).toEqual([]);
});

test('every line of the table names words that stand in its file', () => {
  const wrong = rows.filter(({ file, words }) => {
    const full = path.join(TESTS, file);
    return !existsSync(full) || !readFileSync(full, 'utf8').includes(words);
  });
  expect(wrong).toEqual([]);
});

test('the tests of the demands name them', () => {
  const silent = rows.filter(({ id, file }) => {
    if (!/^[A-EGH]\d+$/.test(id)) return false;
    return !new RegExp(`\\b${id}\\b`).test(readFileSync(path.join(TESTS, file), 'utf8'));
  });
  expect(silent).toEqual([]);
});
