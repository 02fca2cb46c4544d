import { linkOf, linksOf, pageOf } from './links';

/** The order of the pages, which `docs/README.md` gives: headings are sections, items are pages. */

/** A section of the contents: its pages, then the sections below it. */
export interface Section {
  title: string;
  files: string[];
  sections: Section[];
}

/** An entry of the sidebar, in the words of VitePress. */
export interface Entry {
  text: string;
  /** File of the page; none: a heading only. */
  file?: string;
  page?: string;
  items?: Entry[];
}

/** Returns the sections of a page of contents: `##` and `###`, and the first link of each item. */
export const sectionsOf = (file: string, markdown: string): Section[] => {
  const sections: Section[] = [];
  for (const line of markdown.split('\n')) {
    const heading = /^(##|###) (.+)$/.exec(line);
    const href = /^\s*[-*] [^[]*\[[^\]]+\]\(([^()\s]+)\)/.exec(line)?.[1];
    const last = sections.at(-1);
    if (heading !== null) {
      const section = { title: heading[2]!, files: [], sections: [] };
      if (heading[1] === '##' || last === undefined) sections.push(section);
      else last.sections.push(section);
    }
    const link = href === undefined ? null : linkOf(file, href);
    if (link !== null && last !== undefined) (last.sections.at(-1) ?? last).files.push(link.file);
  }
  return sections;
};

/** Returns the title of a page: its first heading. Throws where it has none. */
const titleOf = (file: string, markdown: string): string => {
  const title = /^# (.+)$/m.exec(markdown)?.[1];
  if (title === undefined) throw new Error(`Cannot name the page ${file}: it has no "# " heading. Write one.`);
  return title.replace(/`/g, '').trim();
};

/**
 * Returns the sidebar: the sections, each page by its own title, and below a folder's README the
 * pages of that folder that it links to.
 */
export const sidebarOf = (sections: readonly Section[], texts: ReadonlyMap<string, string>): Entry[] => {
  const entry = (file: string): Entry => {
    const text = texts.get(file) ?? '';
    const folder = file.endsWith('/README.md') ? file.slice(0, -'README.md'.length) : null;
    const below = folder === null ? [] : linksOf(file, text).filter((link) => link.file.startsWith(folder));
    const items = [...new Set(below.map((link) => link.file))].filter((to) => to !== file && texts.has(to));
    return {
      text: titleOf(file, text),
      file,
      page: pageOf(file),
      ...(items.length > 0 ? { items: items.map(entry) } : {}),
    };
  };
  return sections.map(({ title, files, sections: inner }) => ({
    text: title,
    items: [...files.map(entry), ...sidebarOf(inner, texts)],
  }));
};

/** Returns the pages of a sidebar. */
export const filesOf = (entries: readonly Entry[]): string[] =>
  entries.flatMap(({ file, items = [] }) => [...(file === undefined ? [] : [file]), ...filesOf(items)]);
