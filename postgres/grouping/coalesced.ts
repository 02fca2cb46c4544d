import { COALESCE_PREFIX, COLLECTED } from '../../workflows/planning/grouping/coalescing';

/** Parts of statements that see a queue as a claim does that coalesces; `t` is the target. */

/** SQL of `mostCollected`. */
const mostCollected = (maxItems: string): string =>
  `greatest(${maxItems}, least(${COLLECTED.perItem} * ${maxItems} + ${COLLECTED.more}, ${COLLECTED.most}))`;

/**
 * SQL of the head of a target's queue, of which `goes` says what would be sent: of each key the
 * last task. `since`: when its first became ready.
 */
export const coalescedHead = (maxItems: string): string =>
  `coalesced_head(t.id, ${mostCollected(maxItems)}, '${COALESCE_PREFIX}')`;

/** SQL of when the target's waiting tasks are due; `heaviest`: SQL of what a batch may weigh. */
export const coalescedDue = (maxItems: string, heaviest: string): string =>
  `coalesced_due(t.id, ${maxItems}, ${heaviest}, ${mostCollected(maxItems)}, '${COALESCE_PREFIX}')`;

/**
 * SQL of how many tasks of that head `e` would be sent; as many as fill a batch if too many wait.
 */
export const coalescedCount = (maxItems: string): string =>
  `case when count(*) >= ${mostCollected(maxItems)} then greatest(count(*) filter (where e.goes), ${maxItems})
      else count(*) filter (where e.goes) end`;
