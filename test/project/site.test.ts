import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { filesOf } from '../../site/pages/contents';
import { linksOf, pageOf, siteLinks } from '../../site/pages/links';
import { readPages, writePages } from '../../site/pages/stage';
import { ROOT } from './project';

/** The pages of the site (`npm run docs`), as far as they need none of its packages. */

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'site-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const write = (files: Record<string, string>): void => {
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(path.join(folder, path.dirname(file)), { recursive: true });
    writeFileSync(path.join(folder, file), text);
  }
};

test.each([
  ['docs/README.md', 'index.md'],
  ['docs/systems/lanes.md', 'systems/lanes.md'],
  ['examples/demo/README.md', 'examples/demo/index.md'],
  ['CHANGELOG.md', 'CHANGELOG.md'],
  ['postgres/schema.sql', 'postgres/schema.sql.md'],
])('%s is the page %s', (file, page) => expect(pageOf(file)).toBe(page));

test('links lead from page to page, in text and not in code', () => {
  const text = [
    'See [lanes](../systems/lanes.md#limits), [demo](../../examples/demo/README.md), [it](https://example.com/a.md).',
    '```md',
    '[not this](../systems/lanes.md)',
    '```',
    '[here](#there), [schema](../../postgres/schema.sql)',
  ].join('\n');
  expect(siteLinks('docs/handlers/a.md', text).split('\n')).toEqual([
    'See [lanes](../systems/lanes.md#limits), [demo](../examples/demo/index.md), [it](https://example.com/a.md).',
    '```md',
    '[not this](../systems/lanes.md)',
    '```',
    '[here](#there), [schema](../postgres/schema.sql.md)',
  ]);
  expect(linksOf('docs/handlers/a.md', text)).toEqual([
    { file: 'docs/systems/lanes.md', anchor: '#limits' },
    { file: 'examples/demo/README.md', anchor: '' },
    { file: 'postgres/schema.sql', anchor: '' },
  ]);
});

test('an image of a page is copied beside it, as it is', () => {
  const bytes = Buffer.from([0x89, 0x50, 0xff, 0x00]);
  write({ 'docs/README.md': '# Contents\n\n## A\n\n- [a](a.md)\n', 'docs/a.md': '# A\n\n![it](a/it.png)\n' });
  mkdirSync(path.join(folder, 'docs/a'), { recursive: true });
  writeFileSync(path.join(folder, 'docs/a/it.png'), bytes);
  const read = readPages(folder);
  expect(read.pages.get('a.md')).toContain('![it](./a/it.png)');
  const out = path.join(folder, 'out');
  writePages(read, out, 'none');
  expect(readFileSync(path.join(out, 'a/it.png'))).toEqual(bytes);
});

test('the contents give the order, each page its own title, a folder its pages', () => {
  write({
    'docs/README.md': [
      '# Contents\n\n## B\n\n- [x](b.md): not [a](a.md)\n',
      '### C\n\n- [y](d/README.md)\n',
      '## A\n\n- [z](a.md)\n- [s](../s.sql)\n',
    ].join('\n'),
    'docs/a.md': '# Page `A`\n',
    'docs/b.md': '# Page B\n',
    'docs/d/README.md': '# Pages D\n\n| [2](2.md) | [1](1.md) |\n',
    'docs/d/1.md': '# One\n',
    'docs/d/2.md': '# Two\n',
    's.sql': 'select 1;\n',
  });
  const { sidebar, pages } = readPages(folder);
  const shape = (entries: typeof sidebar): unknown[] =>
    entries.map(({ text, page, items }) => [text, page ?? null, ...(items === undefined ? [] : [shape(items)])]);
  expect(shape(sidebar)).toEqual([
    [
      'B',
      null,
      [
        ['Page B', 'b.md'],
        [
          'C',
          null,
          [
            [
              'Pages D',
              'd/index.md',
              [
                ['Two', 'd/2.md'],
                ['One', 'd/1.md'],
              ],
            ],
          ],
        ],
      ],
    ],
    [
      'A',
      null,
      [
        ['Page A', 'a.md'],
        ['s.sql', 's.sql.md'],
      ],
    ],
  ]);
  expect(pages.get('s.sql.md')).toBe('# s.sql\n\n```sql\nselect 1;\n```\n');
});

test('a link that leads nowhere and a page that the contents do not name are refused, all of them', () => {
  write({
    'docs/README.md': '# Contents\n\n## A\n\n- [a](a.md)\n',
    'docs/a.md': '# A\n\n[gone](gone.md) [folder](../docs)\n',
    'docs/b.md': '# B\n',
  });
  const refusal = /docs\/a\.md: docs\/gone\.md is no file\n.*docs\/a\.md: docs is no file\n.*docs\/b\.md is not in/;
  expect(() => readPages(folder)).toThrow(refusal);
});

test('what is of no page any more is taken out, and TypeDoc’s pages are kept', () => {
  write({
    'out/old.md': 'old',
    'out/reference/typescript/index.md': 'types',
  });
  const out = path.join(folder, 'out');
  writePages({ pages: new Map([['a/b.md', '# B\n']]), sidebar: [] }, out, 'reference/typescript');
  const files = readdirSync(out, { recursive: true, encoding: 'utf8' }).filter((file) => file.includes('.'));
  expect(files.sort()).toEqual(['a/b.md', 'reference/typescript/index.md', 'sidebar.json']);
  expect(readFileSync(path.join(out, 'a/b.md'), 'utf8')).toBe('# B\n');
});

test('every page of docs/ is in the sidebar, and no link of a page leads nowhere', () => {
  const { sidebar, pages } = readPages(ROOT);
  expect(filesOf(sidebar)).toEqual(expect.arrayContaining(['docs/tutorial.md', 'docs/reference/cli.md']));
  expect(pages.size).toBeGreaterThan(50);
});
