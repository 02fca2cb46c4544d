import { read, trackedFiles } from './project';

/**
 * No second copy of a constant: two files of the product that declare one of the same name with the
 * same value mean the same by it, and one imports it from the other; else the names say how they
 * differ.
 */
const CONSTANT = /^(?:export )?const (\w+)(?:: [^=]+)? = ([^;`]+?)(?: as const)?;/gm;
/** What a file declares for itself: its page of the API, and what is not a value. */
const OWN = /^(tag|params)$/;
const NOT_A_VALUE = /=>|\bnew |^async |[a-z]\w*\(|\{$/;

/** Writes a number as the number that it is: 30 * 86_400_000 is 2_592_000_000. */
const valueOf = (text: string): string => {
  const flat = text
    .replace(/\/\/.*$/gm, '')
    .replace(/\s+/g, ' ')
    .trim();
  if (!/^[\d_\s.*+()/-]+$/.test(flat)) return flat;
  return String(
    flat
      .replaceAll('_', '')
      .split('*')
      .reduce((product, factor) => product * Number(factor), 1),
  );
};

const copiesIn = (sources: ReadonlyMap<string, string>): string[] => {
  const found = new Map<string, string[]>();
  for (const [file, source] of sources)
    for (const [, name, text] of source.matchAll(CONSTANT)) {
      if (OWN.test(name!) || NOT_A_VALUE.test(text!)) continue;
      const key = `${name} = ${valueOf(text!)}`;
      found.set(key, [...(found.get(key) ?? []), file]);
    }
  return [...found].flatMap(([key, files]) => (files.length > 1 ? [`${key}: ${files.join(', ')}`] : [])).sort();
};

test('no two files of the product declare the same constant', () => {
  const files = trackedFiles().filter((file) =>
    /^(workflows|handlers|activities|postgres|client|workers)\/.*\.ts$/.test(file),
  );
  expect(files.length).toBeGreaterThan(300);
  expect(copiesIn(new Map(files.map((file) => [file, read(file)])))).toEqual([]);
});

test.each([
  ['const MOST = 100;', 'const MOST = 100;', 1],
  ['export const DAY_MS = 86_400_000;', 'const DAY_MS = 24 * 3_600_000;', 1],
  ['const UUID = /^[0-9a-f]+$/i;', 'const UUID = /^[0-9a-f]+$/i;', 1],
  ['const KINDS = ["a", "b"] as const;', 'const KINDS = [\n  "a", "b"];', 0],
  ['const KINDS = ["a"] as const;', 'export const KINDS = ["a"];', 1],
  ['const MOST = 100;', 'const MOST = 200;', 0],
  ['const MOST = 100;', 'const LEAST = 100;', 0],
  ['const seen = new Map();', 'const seen = new Map();', 0],
])('%s and %s: %i', (one, other, n) => {
  expect(
    copiesIn(
      new Map([
        ['a.ts', one],
        ['b.ts', other],
      ]),
    ),
  ).toHaveLength(n);
});
