import type { ItemResult } from '../../contract';
import { cutText, show } from '../../text';

/** A line of the results. */
export interface ResultLine {
  custom_id: string;
  result?: {
    type: 'succeeded' | 'errored' | 'canceled' | 'expired';
    message?: unknown;
    error?: { error?: { type?: string; message?: string } };
  };
}

/** Errors of a request that another attempt does not mend; docs.anthropic.com/en/api/errors. */
const LASTING = new Set(['invalid_request_error', 'not_found_error', 'permission_error', 'request_too_large']);

/**
 * Returns what a line says of its task. A request that was cancelled or has expired was not
 * answered, and is tried again.
 */
export function lineResult(line: ResultLine): ItemResult {
  const { custom_id: place, result } = line;
  const index = /^\d+$/.test(place) ? Number(place) : NaN;
  switch (result?.type) {
    case 'succeeded':
      return { index, status: 'ok', result: result.message };
    case 'canceled':
    case 'expired':
      return { index, status: 'retry', error: `not answered: ${result.type}` };
    case 'errored': {
      const { type = 'no type', message = '' } = result.error?.error ?? {};
      return { index, status: LASTING.has(type) ? 'failed' : 'retry', error: cutText(`${type}: ${message}`) };
    }
    default:
      return { index, status: 'unknown', error: `unreadable result ${show(line)}` };
  }
}
