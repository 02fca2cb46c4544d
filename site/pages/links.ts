import path from 'node:path';

/**
 * Where the Markdown files of the repository stand on the site, and their links there. Files are
 * named from the root of the repository, with `/`.
 */

/** Says whether a file is shown within a page, and is none itself. */
export const isImage = (file: string): boolean => file.endsWith('.png');

/**
 * Returns the page of a file: `docs/` is the root of the site, a folder's README its index, and a
 * file that is no Markdown has a page with its text. An image stays one.
 */
export const pageOf = (file: string): string => {
  const page = file.replace(/^docs\//, '').replace(/(^|\/)README\.md$/, (_, folder: string) => `${folder}index.md`);
  return page.endsWith('.md') || isImage(page) ? page : `${page}.md`;
};

/** A link as it is written: its place in the repository, and its anchor with `#`. */
export interface Link {
  file: string;
  anchor: string;
}

/** Returns where a link of `from` leads within the repository; null: elsewhere, or on this page. */
export const linkOf = (from: string, href: string): Link | null => {
  if (/^([a-z][a-z0-9+.-]*:|\/|#)/i.test(href)) return null;
  const hash = href.indexOf('#');
  const place = hash === -1 ? href : href.slice(0, hash);
  const file = path.posix.normalize(path.posix.join(path.posix.dirname(from), decodeURI(place)));
  return { file, anchor: hash === -1 ? '' : href.slice(hash) };
};

const HREF = /(\]\()([^()\s]+)(\))/g;

/** Returns what `change` makes of each link of a text, code blocks left out. */
const changeLinks = (markdown: string, change: (href: string) => string): string => {
  let fence: string | null = null;
  return markdown
    .split('\n')
    .map((line) => {
      const mark = /^\s*(`{3,}|~{3,})/.exec(line)?.[1];
      if (mark !== undefined && (fence === null || mark.startsWith(fence))) fence = fence === null ? mark : null;
      if (mark !== undefined || fence !== null) return line;
      return line.replace(HREF, (_, open: string, href: string, close: string) => open + change(href) + close);
    })
    .join('\n');
};

/** Returns the links of a page that stay in the repository, in their order. */
export const linksOf = (file: string, markdown: string): Link[] => {
  const links: Link[] = [];
  changeLinks(markdown, (href) => {
    const link = linkOf(file, href);
    if (link !== null) links.push(link);
    return href;
  });
  return links;
};

/** Returns a page with its links as they are on the site: from page to page. */
export const siteLinks = (file: string, markdown: string): string =>
  changeLinks(markdown, (href) => {
    const link = linkOf(file, href);
    if (link === null) return href;
    const to = path.posix.relative(path.posix.dirname(pageOf(file)), pageOf(link.file));
    return `${to.startsWith('.') ? to : `./${to}`}${link.anchor}`;
  });
