import { readdirSync } from 'node:fs';
import path from 'node:path';
import { read, ROOT } from './project';
import { REFERENCES, referenceText } from './references/references';

// On a difference: read it, then `npm run docs:reference`, and commit both.
test.each(Object.keys(REFERENCES))('%s is what the code says', async (file) => {
  expect(read(file)).toBe(await referenceText(file));
});

test('the page on metrics names every metric, and no other', () => {
  const namesIn = (text: string): string[] => [...new Set(text.match(/\bmuster_[a-z_]*[a-z]\b/g))].sort();
  expect(namesIn(read('docs/operations/metrics.md'))).toEqual(namesIn(read('docs/reference/metrics.md')));
});

test('every page of docs/reference is generated', () => {
  const pages = readdirSync(path.join(ROOT, 'docs', 'reference')).map((file) => path.join('docs', 'reference', file));
  expect(pages.sort()).toEqual(Object.keys(REFERENCES).sort());
});
