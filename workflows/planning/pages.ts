/** Most entries of a page, in the client library, the HTTP API and the command line. */
export const PAGE_MAX = 1_000;

/** Most work items, or results of them, of a page. */
export const ITEM_PAGE_MAX = 10_000;
