import type { ExplainRow } from '../../../postgres/operations/explain';
import { OF_ANOTHER_TENANT } from '../../../workflows/planning/grouping/coalescing';

/** What of a task or batch a caller sees whose names begin with a prefix: a tenant. */

/** What is said in place of who set a limit. */
const BY_OPERATOR = 'an operator';

/**
 * Leaves out what is not the caller's: ids of other tasks (tenants share a handler's keys), where
 * the handler's code threw, and who set limits. An empty prefix: all is the caller's.
 */
export const shownWithin = (row: ExplainRow, prefix: string): ExplainRow => {
  if (prefix === '') return row;
  return {
    ...row,
    queued: named(row.queued, prefix),
    batch: row.batch === null ? null : { ...row.batch, stack: null },
    handler: { ...row.handler, ...unsigned(row.handler, ['limitsSet', 'sharedLimitSet']) },
    target: { ...row.target, ...unsigned(row.target, ['limitsSet']) },
  };
};

/** Leaves out where the handler's code threw. */
export const batchWithin = <T extends { stack: string | null }>(view: T, prefix: string): T =>
  prefix === '' ? view : { ...view, stack: null };

const named = (queued: ExplainRow['queued'], prefix: string): ExplainRow['queued'] => {
  if (queued === null) return null;
  const shown = (id: unknown): unknown => (typeof id === 'string' && !id.startsWith(prefix) ? OF_ANOTHER_TENANT : id);
  return { ...queued, keyHolder: shown(queued['keyHolder']), successor: shown(queued['successor']) };
};

/** Returns these settings, by limit, without the name of who set them. */
const unsigned = (of: Record<string, unknown>, names: readonly string[]): Record<string, unknown> =>
  Object.fromEntries(
    names
      .filter((name) => typeof of[name] === 'object' && of[name] !== null)
      .map((name) => [
        name,
        Object.fromEntries(
          Object.entries(of[name] as Record<string, object>).map(([limit, set]) => [
            limit,
            { ...set, by: BY_OPERATOR },
          ]),
        ),
      ]),
  );
