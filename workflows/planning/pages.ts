/** Most entries of a page, in the client library, the HTTP API and the command line. */
export const PAGE_MAX = 1_000;

/** Most work items, or results of them, of a page. */
export const ITEM_PAGE_MAX = 10_000;

/** Orders in which waiting tasks are listed over all targets, by when they were accepted. */
export const TIME_ORDERS = ['newest', 'oldest'] as const;
export type TimeOrder = (typeof TIME_ORDERS)[number];
