import { existsSync } from 'node:fs';
import path from 'node:path';
import { read, ROOT } from './project';

/** docs/internals/follow-a-task.md names files, each followed by functions that it holds. */
const PAGE = 'docs/internals/follow-a-task.md';
const CODE = /`([^`]+)`/g;
const FILE = /^[\w-]+(\/[\w-]+)+\.ts$/;
const NAME = /^[A-Za-z]\w+$/;

/** Names stand behind their file: until the next file, list item or paragraph. */
const hopsIn = (page: string): { file: string; name: string }[] =>
  page.split(/\n\n|\n(?=\d+\. )/).flatMap((paragraph) => {
    let file: string | null = null;
    return [...paragraph.matchAll(CODE)].flatMap(([, code]) => {
      if (FILE.test(code!)) file = code!;
      else if (NAME.test(code!) && file !== null && !TABLES.has(code!)) return [{ file, name: code! }];
      return [];
    });
  });
/** Tables, views and settings that a hop speaks of. */
const TABLES = new Set(['task', 'queue', 'member', 'lane_queue', 'task_state', 'signalWithStart']);

const isDeclared = (source: string, name: string): boolean =>
  new RegExp(`(function\\*? |const |class |(private|protected|async) )${name}\\b|^  ${name}[(<]`, 'm').test(source);

describe(PAGE, () => {
  const page = read(PAGE);
  const hops = hopsIn(page);

  test('names files that are there', () => {
    const files = [...page.matchAll(CODE)].map(([, code]) => code!).filter((code) => FILE.test(code));
    expect(files.length).toBeGreaterThan(50);
    expect(files.filter((file) => !existsSync(path.join(ROOT, file)))).toEqual([]);
  });

  test('names functions that stand in those files', () => {
    expect(hops.length).toBeGreaterThan(80);
    const wrong = hops.filter(({ file, name }) => existsSync(path.join(ROOT, file)) && !isDeclared(read(file), name));
    expect(wrong).toEqual([]);
  });
});
