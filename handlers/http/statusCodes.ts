import type { HoldScope } from '../contract';
import type { StatusTable } from './patterns';

/** What an HTTP status can say about a whole call; docs/handlers/http-json.md has the table. */
export const VERDICTS = ['later', 'rejected', 'halt', 'unknown'] as const;
export type Verdict = (typeof VERDICTS)[number];

/**
 * Statuses that say that nothing was done. 425: the server was unwilling to risk the request yet.
 */
const LATER = new Set([425, 429, 503]);
/** The only content errors, and therefore the only statuses after which a batch is bisected. */
const REJECTED = new Set([400, 413, 422]);
/**
 * Statuses after which the outcome is unknown: 408 may come after the body was read, 409 may mean
 * that an earlier attempt holds the key or was applied, and 499 is a proxy's own timeout.
 */
const UNKNOWN = new Set([408, 409, 499]);
/**
 * 5xx statuses that concern the request as such, and repeat for every batch: not implemented, HTTP
 * version, network authentication.
 */
const HALT_5XX = new Set([501, 505, 511]);

/** Statuses about the credentials, which every call of a handler carries. */
const CREDENTIALS = new Set([401, 403, 407]);
/** Statuses about the URL as such: where a target stands in it, about that target. */
const OF_URL = new Set([404, 410, 414]);

/** What a status says about a call; `scope`: what waits after a `halt`. */
export type Judgement = { verdict: Exclude<Verdict, 'halt'> } | { verdict: 'halt'; scope: HoldScope };

/**
 * Returns the verdict on a status that is no 2xx. 3xx: halt, since redirects are not followed. A
 * 4xx that is not listed above halts, too: it refuses whatever is sent (credentials, URL, method,
 * media type), and treating it as a content error would fail a whole backlog. Where the target
 * stands in the URL, a caller chose it: a 404 then rejects the batch, and only credentials halt
 * other targets, too. A 5xx that is not listed is unknown, since the work may have been done. For
 * 4xx and 5xx, `overrides` (the setting `answers`) take precedence.
 */
export function verdictOf(status: number, overrides: StatusTable<Verdict>, hasTarget = false): Judgement {
  const halt: Judgement = {
    verdict: 'halt',
    scope: hasTarget && status < 500 && !CREDENTIALS.has(status) ? 'target' : 'handler',
  };
  if (status >= 300 && status <= 399) return halt;
  const chosen = overrides.find(String(status));
  if (chosen !== undefined) return judgementOf(chosen);
  if (LATER.has(status)) return { verdict: 'later' };
  if (REJECTED.has(status) || (hasTarget && OF_URL.has(status))) return { verdict: 'rejected' };
  if (UNKNOWN.has(status)) return { verdict: 'unknown' };
  return (status >= 400 && status <= 499) || HALT_5XX.has(status) ? halt : { verdict: 'unknown' };
}

/** Returns what `answers` says of a call: its `halt` means the handler. */
export const judgementOf = (chosen: Verdict): Judgement =>
  chosen === 'halt' ? { verdict: chosen, scope: 'handler' } : { verdict: chosen };
