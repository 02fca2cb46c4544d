import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

/** SECURITY.md: each attack in its tables has a test that is there, and each test an attack. */

const ROOT = path.join(__dirname, '..', '..', '..');
const text = readFileSync(path.join(ROOT, 'SECURITY.md'), 'utf8');

/** Returns the last cells of the table whose last column has this title. */
const lastCells = (title: string): string[] => {
  const lines = text.split('\n');
  const head = lines.findIndex((line) => line.startsWith('|') && line.split('|').at(-2)!.trim() === title);
  expect([title, head]).not.toEqual([title, -1]);
  const rows = lines.slice(head + 2);
  return rows
    .slice(
      0,
      rows.findIndex((line) => !line.startsWith('|')),
    )
    .map((line) => line.split('|').at(-2)!.trim());
};
const namesIn = (cell: string): string[] => [...cell.matchAll(/`([^`]+)`/g)].map(([, name]) => name!);

test.each([
  ['Test in `test/attacks`', 'test/attacks', 20],
  ['Test in `test`', 'test', 10],
])('every row of "%s" names tests, which are there', (title, folder, rows) => {
  const cells = lastCells(title);
  expect(cells.length).toBeGreaterThanOrEqual(rows);
  for (const cell of cells) {
    const names = namesIn(cell);
    expect([cell, names.length > 0]).toEqual([cell, true]);
    const isThere = (name: string): boolean => existsSync(path.join(ROOT, folder, `${name}.test.ts`));
    expect(names.filter((name) => !isThere(name))).toEqual([]);
  }
});

test('every attack of the suite is in its table', () => {
  const named = new Set(lastCells('Test in `test/attacks`').flatMap(namesIn));
  const files = readdirSync(path.join(ROOT, 'test/attacks'), { recursive: true, encoding: 'utf8' });
  const tests = files.filter((file) => file.endsWith('.test.ts')).map((file) => file.replace(/\.test\.ts$/, ''));
  expect(tests.filter((name) => !named.has(name) && name !== 'browser/part')).toEqual([]);
});

test('it says what is protected, from whom, where, and what is promised', () => {
  for (const title of ['What is protected', 'Who attacks', 'Boundaries', 'What is promised', 'What is trusted'])
    expect(text).toContain(`\n## ${title}\n`);
});
