import { circlesOf } from './circles';
import { importsOf, sourceFiles } from './importScan';
import { read } from './project';

const FOLDERS = ['workflows', 'handlers', 'activities', 'postgres', 'workers', 'client', 'examples', 'test'];

test('no two files import each other, types included', () => {
  const files = sourceFiles(FOLDERS);
  expect(files.length).toBeGreaterThan(700);
  expect(circlesOf(files.flatMap((file) => importsOf(file, read(file))))).toEqual([]);
});

test('a circle is found, of types and through a third file too', () => {
  const sources = {
    'client/a.ts': `import type { B } from './b';`,
    'client/b.ts': `import { c } from './rooms';`,
    'client/rooms/index.ts': `export { a } from '../a';`,
    'client/d.ts': `import { a } from './a';`,
  };
  const imports = Object.entries(sources).flatMap(([file, source]) => importsOf(file, source));
  expect(circlesOf(imports)).toEqual([['client/a', 'client/b', 'client/rooms']]);
});
