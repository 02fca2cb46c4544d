// @ts-check
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitepress';

const SITE = fileURLToPath(new URL('..', import.meta.url));
const PAGES = `${SITE}.pages/`;
const REFERENCE = 'reference/typescript';
const { description } = JSON.parse(readFileSync(`${SITE}../package.json`, 'utf8'));

/** @typedef {{ text: string, page?: string, items?: Entry[] }} Entry */

/** The address of a page: `a/b.md` is `/a/b`, `a/index.md` is `/a/`. */
const linkTo = (/** @type {string} */ page) => `/${page}`.replace(/(?<=\/)index\.md$|\.md$/, '');

/** @returns {import('vitepress').DefaultTheme.SidebarItem} */
const itemOf = (/** @type {Entry} */ { text, page, items }, depth = 0) => ({
  text,
  ...(page === undefined ? {} : { link: linkTo(page) }),
  ...(items === undefined ? {} : { items: items.map((item) => itemOf(item, depth + 1)), collapsed: depth > 0 }),
});

/** TypeDoc's folders and pages, each by its own heading without the kind ("Class: Client"). */
const treeOf = (/** @type {string} */ folder) => {
  const place = `${PAGES}${folder}`;
  if (!existsSync(place)) return [];
  return readdirSync(place, { withFileTypes: true })
    .filter(({ name }) => name !== 'index.md')
    .map((found) => {
      const at = `${folder}/${found.name}`;
      if (found.isDirectory()) return { text: headingOf(at), items: treeOf(at), collapsed: true, ...linkOfFolder(at) };
      return { text: headingOf(at), link: `/${at.replace(/\.md$/, '')}` };
    });
};
const linkOfFolder = (/** @type {string} */ folder) =>
  existsSync(`${PAGES}${folder}/index.md`) ? { link: `/${folder}/` } : {};
const headingOf = (/** @type {string} */ at) => {
  const page = at.endsWith('.md') ? `${PAGES}${at}` : `${PAGES}${at}/index.md`;
  if (!existsSync(page)) return at.slice(at.lastIndexOf('/') + 1).replaceAll('-', ' ');
  const heading = /^# (.+)$/m.exec(readFileSync(page, 'utf8'))?.[1] ?? at;
  return heading.replace(/^[A-Z][A-Za-z ]*: /, '').replaceAll('\\', '');
};

/** @type {Entry[]} */
const contents = JSON.parse(readFileSync(`${PAGES}sidebar.json`, 'utf8'));
const sidebar = contents.map((entry) => itemOf(entry));
const firstLink = (/** @type {import('vitepress').DefaultTheme.SidebarItem} */ item) =>
  item.link ?? item.items?.map(firstLink).find((link) => link !== undefined);
const nav = sidebar.map((section) => ({ text: section.text ?? '', link: firstLink(section) ?? '/' }));
sidebar.find(({ text }) => text === 'Reference')?.items?.push({ text: 'TypeScript', link: `/${REFERENCE}/` });
/** Another sidebar: with some 200 entries more, every page would be three times as large. */
const sidebarOfTypes = [
  { text: 'Documentation', link: '/' },
  { text: 'TypeScript', link: `/${REFERENCE}/`, items: treeOf(REFERENCE) },
];

/** Anchors as GitHub makes them, so that a link to a heading leads there in both places. */
const slugify = (/** @type {string} */ heading) =>
  heading
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\p{Pc}\- ]/gu, '')
    .replaceAll(' ', '-');

export default defineConfig({
  title: 'Muster',
  description,
  lang: 'en',
  srcDir: '.pages',
  outDir: 'dist',
  cacheDir: '.cache',
  metaChunk: true,
  markdown: {
    anchor: { slugify },
    attrs: { disable: true }, // in `GET /v1/tasks/{id}` they are text
    config: (md) => {
      md.renderer.rules.code_inline = (tokens, index) =>
        `<code v-pre>${md.utils.escapeHtml(tokens[index]?.content ?? '')}</code>`; // {{target}} is no Vue
      const fence = md.renderer.rules.fence;
      md.renderer.rules.fence = (tokens, index, ...rest) => {
        const { info = '', content = '' } = tokens[index] ?? {};
        if (info.trim() !== 'mermaid') return fence?.(tokens, index, ...rest) ?? '';
        return `<Mermaid code="${encodeURIComponent(content)}" />`;
      };
    },
  },
  vite: { build: { chunkSizeWarningLimit: 3_000 } }, // Mermaid, which only pages with drawings load
  themeConfig: {
    nav,
    sidebar: { '/': sidebar, [`/${REFERENCE}/`]: sidebarOfTypes },
    search: { provider: 'local' },
    outline: [2, 3],
  },
});
