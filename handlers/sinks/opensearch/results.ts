import type { ItemResult } from '../../contract';
import { cutText, show } from '../../text';
import { NOT_FOUND } from '../http/caller';

interface BulkItem {
  status?: number;
  _version?: number;
  error?: { type?: string; reason?: string };
}

/** An item that was not tried, or that the node could not take now. */
const PASSING = new Set([408, 429, 500, 502, 503, 504]);

/**
 * Returns the results of a `_bulk` answer, which has one item per action, in the same order. 2xx is
 * `ok`, and so is the deletion of what is not there; 429 and 5xx are tried again; any other status
 * is for good. Throws if the answer is not such a list: its outcome is unknown.
 */
export function bulkResults(answer: unknown, sent: number): ItemResult[] {
  const items = (answer as { items?: unknown } | null)?.items;
  if (!Array.isArray(items) || items.length !== sent)
    throw new Error(`unreadable answer: expected ${sent} items, one per document, got ${show(answer, 500)}`);
  return items.map((item: Record<string, BulkItem>, index): ItemResult => {
    const [[action, { status, _version: version, error }] = ['', {} as BulkItem]] = Object.entries(item ?? {});
    if (typeof status !== 'number') return { index, status: 'unknown', error: `no status in ${show(item)}` };
    if (status >= 200 && status <= 299) return { index, status: 'ok', result: { version } };
    if (action === 'delete' && status === NOT_FOUND) return { index, status: 'ok' };
    const why = cutText(`${status} ${error?.type ?? ''}: ${error?.reason ?? ''}`);
    return { index, status: PASSING.has(status) ? 'retry' : 'failed', error: why };
  });
}
