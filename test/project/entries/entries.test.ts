import { HEAVY, readEntries } from './entries';
import type { Loaded } from './loaded';
import { importEntries, requireEntry } from './loaded';
import { readTable } from './table';

/** What each export of package.json loads, by `require` and by `import`, from dist/. @slow */

const entries = readEntries();
const loaded: Record<string, Loaded> = {};
let imported: Record<string, string[]>;

beforeAll(async () => {
  const open = [...entries];
  const measure = async (): Promise<void> => {
    for (let entry = open.shift(); entry !== undefined; entry = open.shift())
      loaded[entry.name] = await requireEntry(entry.name);
  };
  imported = await importEntries(entries.map(({ name }) => name));
  await Promise.all([measure(), measure()]);
});

test.each(entries)('$name loads native code, a server, a bundler only where it must', ({ name, loads }) => {
  const { packages, native } = loaded[name]!;
  expect(HEAVY.filter((one) => packages.includes(one))).toEqual(HEAVY.filter((one) => loads.includes(one)));
  expect(native.length > 0).toBe(loads.includes('@temporalio/core-bridge'));
});

test.each(entries)('$name gives the same names to require and to import', ({ name }) => {
  const { names } = loaded[name]!;
  expect(names.length).toBeGreaterThan(0);
  expect(imported[name]).toEqual(names);
});

test('the table in docs/client.md has each entry, and its number of modules to 5 %', () => {
  const rows = readTable();
  expect(rows.map(({ name }) => name)).toEqual(entries.map(({ name }) => name));
  const differ = rows.filter(({ name, modules }) => {
    const now = loaded[name]!.modules;
    return Math.abs(now - modules) > Math.max(2, now * 0.05);
  });
  expect(differ.map(({ name, modules }) => ({ name, modules, now: loaded[name]!.modules }))).toEqual([]);
});
