/** What the parts of the overload bench agree on. */

export const ITEMS = 50;
export const MOST_QUEUED = 20_000;
export const BESIDE = 'beside';
/** Where the downstream is, for the worker processes. */
export const URL_VARIABLE = 'OVERLOAD_URL';
