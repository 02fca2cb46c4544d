import { z } from 'zod';

/**
 * An edit of one price of a service (a purchase order): set it, or derive it from another price.
 * What a batch does is decided here and nowhere else: the ledger applies with it, and who checks
 * the ledger computes the sequential result with it.
 */
export const editSchema = z
  .strictObject({
    /** The caller's, answered with the receipt. */
    id: z.string().min(1).max(200),
    /** State key that is written, such as `price`. */
    key: z.string().min(1).max(200),
    set: z.number().optional(),
    /** The new value is that of `of` plus this; a price that is not there yet counts as 0. */
    plus: z.number().optional(),
    of: z.string().min(1).max(200).optional(),
  })
  .refine(
    ({ set, plus, of }) => (set === undefined) !== (plus === undefined) && (plus === undefined) === (of === undefined),
    {
      error: 'expected either set, or plus and of',
    },
  );
export type Edit = z.infer<typeof editSchema>;

export type Prices = Record<string, number>;

/** What an edit reads and writes: the sets of its batch are the unions of these. */
export const readsOf = ({ of }: Edit): string[] => (of === undefined ? [] : [of]);
export const writesOf = ({ key }: Edit): string[] => [key];

const PRICE_MAX = 1_000_000;

/** Answer for one item: it was applied, would have been but for others, or why it cannot be. */
export interface Receipt {
  id: string;
  status: 'ok' | 'failed';
  error?: string;
}

/** Prices after a batch, which is applied as a whole or not at all; and a receipt for each item. */
export function applyEdits(
  prices: Readonly<Prices>,
  edits: readonly Edit[],
): { prices: Prices | null; receipts: Receipt[] } {
  const next = { ...prices };
  const errors = edits.map(({ key, set, plus, of }) => {
    const value = set ?? Math.round(((next[of!] ?? 0) + plus!) * 100) / 100;
    if (value < 0 || value > PRICE_MAX) return `${key}: expected a price from 0 to ${PRICE_MAX}, got ${value}`;
    next[key] = value;
    return null;
  });
  const isValid = errors.every((error) => error === null);
  const receipts = edits.map(({ id }, at): Receipt => {
    if (isValid) return { id, status: 'ok' };
    return { id, status: 'failed', error: errors[at] ?? 'valid, but another item of the batch is not' };
  });
  return { prices: isValid ? next : null, receipts };
}
