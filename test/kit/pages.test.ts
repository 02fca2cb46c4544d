import { existsSync } from 'node:fs';
import path from 'node:path';
import { read, ROOT } from '../project/project';

/** The examples of docs/testing.md are files of the users' projects, which are run. */

const EXAMPLE = /<!-- (test\/userProjects\/\S+) -->\n\n```ts\n([^]*?)```/g;
const examples = [...read('docs/testing.md').matchAll(EXAMPLE)].map(([, file, text]) => [file!, text!] as const);

test('the page has examples of both runners', () => {
  expect(examples.map(([file]) => path.basename(path.dirname(file)))).toEqual(
    expect.arrayContaining(['jest', 'vitest']),
  );
  expect(examples.length).toBeGreaterThan(3);
});

test.each(examples)('the example %s is that file', (file, text) => {
  expect(existsSync(path.join(ROOT, file))).toBe(true);
  expect(text).toBe(read(file));
});
