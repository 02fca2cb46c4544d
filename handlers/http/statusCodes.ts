import type { StatusTable } from './patterns';

/** What an HTTP status says about the whole call; docs/handlers/http-json.md has the table. */
export const VERDICTS = ['later', 'rejected', 'halt', 'unknown'] as const;
export type Verdict = (typeof VERDICTS)[number];

/** 425: the server would not risk it yet; like 429 and 503 it says that nothing was done. */
const LATER = new Set([425, 429, 503]);
/** Only these are content errors, so only these are bisected. */
const REJECTED = new Set([400, 413, 422]);
/**
 * 408 may come after the body was read; 409 may mean that an earlier attempt holds the key or was
 * applied; 499 is a proxy's own timeout.
 */
const UNKNOWN = new Set([408, 409, 499]);
/**
 * 5xx that are about the request as such, and repeat for every batch: not implemented, HTTP
 * version, network authentication.
 */
const HALT_5XX = new Set([501, 505, 511]);

/**
 * Returns the verdict on a status. 2xx: undefined, the body says. 3xx: halt, redirects are not
 * followed. Every other 4xx halts: it refuses whatever is sent (credentials, URL, method, media
 * type), and to take it for a content error would fail a whole backlog. Other 5xx are unknown: the
 * work may have been done. `overrides` (the setting `answers`) come first for 4xx and 5xx.
 */
export function verdictOf(status: number, overrides: StatusTable<Verdict>): Verdict | undefined {
  if (status >= 200 && status <= 299) return undefined;
  if (status >= 300 && status <= 399) return 'halt';
  const chosen = overrides.find(String(status));
  if (chosen !== undefined) return chosen;
  if (LATER.has(status)) return 'later';
  if (REJECTED.has(status)) return 'rejected';
  if (UNKNOWN.has(status)) return 'unknown';
  return (status >= 400 && status <= 499) || HALT_5XX.has(status) ? 'halt' : 'unknown';
}
