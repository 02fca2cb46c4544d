import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { filesOf, sectionsOf, sidebarOf } from './contents';
import type { Entry } from './contents';
import { isImage, linksOf, pageOf, siteLinks } from './links';

/** The page that gives all others their order. */
const CONTENTS = 'docs/README.md';

/** The pages of the site, before TypeDoc's. */
export interface Pages {
  /** Text by page, with the links of the site; and the images of the pages. */
  pages: Map<string, string | Buffer>;
  sidebar: Entry[];
}

/**
 * Reads docs/, and every file of the repository that a page links to. Throws an error with
 * all links that lead nowhere, and all pages of docs/ that the contents do not name.
 */
export const readPages = (root: string): Pages => {
  const texts = new Map<string, string>();
  const images = new Map<string, Buffer>();
  const problems: string[] = [];
  const todo = markdownIn(root, 'docs');
  for (let file = todo.shift(); file !== undefined; file = todo.shift()) {
    if (texts.has(file)) continue;
    const text = textOf(root, file);
    texts.set(file, text);
    for (const link of linksOf(file, text)) {
      if (!isFile(path.join(root, link.file))) problems.push(`${file}: ${link.file} is no file`);
      else if (isImage(link.file)) images.set(pageOf(link.file), readFileSync(path.join(root, link.file)));
      else todo.push(link.file);
    }
  }
  const pages = new Map([...texts].map(([file, text]) => [pageOf(file), siteLinks(file, text)]));
  if (pages.size < texts.size) problems.push(`two files have one page: ${[...texts.keys()].join(', ')}`);
  const sidebar = sidebarOf(sectionsOf(CONTENTS, texts.get(CONTENTS) ?? ''), texts);
  const named = new Set([CONTENTS, ...filesOf(sidebar)]);
  for (const file of texts.keys())
    if (file.startsWith('docs/') && !named.has(file)) problems.push(`${file} is not in ${CONTENTS}: add it there`);
  if (problems.length > 0) throw new Error(`Cannot make the pages:\n  ${problems.join('\n  ')}`);
  return { pages: new Map<string, string | Buffer>([...pages, ...images]), sidebar };
};

/**
 * Writes pages and `sidebar.json` into a folder, and takes out what is of no page any more,
 * `kept` excepted. What has not changed is not written, so that a running server reloads little.
 */
export const writePages = ({ pages, sidebar }: Pages, to: string, kept: string): void => {
  const files = new Map([...pages, ['sidebar.json', JSON.stringify(sidebar, null, 2)] as const]);
  const before = existsSync(to) ? readdirSync(to, { recursive: true, encoding: 'utf8' }) : [];
  for (const file of before)
    if (!files.has(file) && !file.startsWith(kept) && isFile(path.join(to, file))) rmSync(path.join(to, file));
  for (const [file, text] of files) {
    const place = path.join(to, file);
    if (isFile(place) && readFileSync(place).equals(Buffer.from(text))) continue;
    mkdirSync(path.dirname(place), { recursive: true });
    writeFileSync(place, text);
  }
};

/** The text of a page: of a file that is no Markdown, its name and what it holds. */
const textOf = (root: string, file: string): string => {
  const text = readFileSync(path.join(root, file), 'utf8');
  if (file.endsWith('.md')) return text;
  return `# ${path.basename(file)}\n\n\`\`\`${path.extname(file).slice(1)}\n${text.trimEnd()}\n\`\`\`\n`;
};

const markdownIn = (root: string, folder: string): string[] =>
  readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.md'))
    .map((file) => path.posix.join(folder, file.split(path.sep).join('/')))
    .sort();

const isFile = (place: string): boolean => statSync(place, { throwIfNoEntry: false })?.isFile() === true;
