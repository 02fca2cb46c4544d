import { noteEnds } from '../../postgres/outcomes/uncounted';
import type { Client as Transaction } from '../../postgres/pool';
import type { CountedEnd } from '../../workflows/planning/outcomes/kinds';
import { countsOf, ENDS } from '../../workflows/planning/outcomes/kinds';

/** Notes tasks that ended alike without a call, in the transaction that ends them. */
export const noteUnsent = async (
  tx: Transaction,
  ended: readonly { handler: string }[],
  end: CountedEnd,
): Promise<void> => {
  if (ended.length === 0) return;
  const byHandler = new Map<string, number>();
  for (const { handler } of ended) byHandler.set(handler, (byHandler.get(handler) ?? 0) + 1);
  await noteEnds(
    tx,
    [...byHandler].map(([handler, n]) => ({ handler, ends: countsOf(ENDS, new Map([[end, n]])) })),
  );
};
