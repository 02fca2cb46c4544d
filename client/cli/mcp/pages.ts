import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

/** A page of the documents, which an agent may read. */
export interface DocumentPage {
  uri: string;
  name: string;
  title: string;
}

/** The documents that come with the package. */
const FOLDER = path.join(__dirname, '..', '..', '..', '..', 'docs');
const SCHEME = 'muster:///docs/';
/** How Muster is built is for those who change it. */
const isForUsers = (name: string): boolean => name.endsWith('.md') && !name.startsWith('internals/');

/** Lists the pages, by name. */
export const listPages = (): DocumentPage[] =>
  readdirSync(FOLDER, { recursive: true, encoding: 'utf8' })
    .map((name) => name.replaceAll(path.sep, '/'))
    .filter(isForUsers)
    .sort()
    .map((name) => ({ uri: SCHEME + name, name, title: titleOf(readFileSync(path.join(FOLDER, name), 'utf8'), name) }));

/** Returns the text of a page. @throws Error when there is none. */
export const readPage = (uri: string): string => {
  const found = listPages().find((page) => page.uri === uri);
  if (found === undefined) throw new Error(`Cannot read ${uri}: no such page. List the resources.`);
  return readFileSync(path.join(FOLDER, found.name), 'utf8');
};

const titleOf = (text: string, name: string): string => /^# (.+)$/m.exec(text)?.[1] ?? name;
