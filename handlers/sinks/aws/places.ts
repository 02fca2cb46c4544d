import type { ItemResult } from '../../contract';
import { show } from '../../text';

/** The error of one entry of an answer; without a code the entry was applied. */
export interface PlacedEntry {
  ErrorCode?: string;
  ErrorMessage?: string;
}

/**
 * Returns the results of an answer that has one entry per record, at its place. Throws if it has
 * another number of entries: then no place can be believed, and the outcome is unknown. `isLasting`
 * says which codes are for good; all others may pass.
 */
export function placedResults<Entry extends PlacedEntry>(
  entries: readonly Entry[] | undefined,
  sent: number,
  resultOf: (entry: Entry) => object,
  isLasting: (code: string) => boolean = () => false,
): ItemResult[] {
  if (entries?.length !== sent)
    throw new Error(`unreadable answer: expected ${sent} entries, one per record, got ${show(entries?.length)}`);
  return entries.map((entry, index): ItemResult => {
    const { ErrorCode, ErrorMessage } = entry;
    if (ErrorCode === undefined) return { index, status: 'ok', result: resultOf(entry) };
    return { index, status: isLasting(ErrorCode) ? 'failed' : 'retry', error: `${ErrorCode}: ${ErrorMessage ?? ''}` };
  });
}
