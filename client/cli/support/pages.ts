import { PAGE_MAX } from '../../../workflows/planning/pages';

/** Most entries that a command lists: more are listed by a script that passes --after. */
export const MOST_LISTED = 100_000;

interface Wanted {
  limit: number;
  /** Where the list begins; undefined: at its beginning. */
  after: string | undefined;
}

/** Some entries of a list, and where it goes on; null: it ends. */
export interface Entries<T> {
  entries: T[];
  next: string | null;
}

/** Reads pages until there are as many entries as wanted. */
export const allPages = async <T>(
  { limit, after }: Wanted,
  read: (page: { limit: number; after?: string }) => Promise<Entries<T>>,
): Promise<Entries<T>> => {
  const found: T[] = [];
  for (let next = after; ;) {
    const page = await read({
      limit: Math.min(PAGE_MAX, limit - found.length),
      ...(next === undefined ? {} : { after: next }),
    });
    found.push(...page.entries);
    if (page.next === null || found.length === limit) return { entries: found, next: page.next };
    next = page.next;
  }
};
