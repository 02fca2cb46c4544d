import { COALESCE_PREFIX, COLLECTED } from '../../workflows/planning/grouping/coalescing';

/** Parts of statements that see a queue as a claim does that coalesces; `t` is the target. */

/** SQL of `mostCollected`. */
const mostCollected = (maxItems: string): string =>
  `greatest(${maxItems}, least(${COLLECTED.perItem} * ${maxItems} + ${COLLECTED.more}, ${COLLECTED.most}))`;

/**
 * SQL of the head of a target's queue, of which `goes` says what would be sent: of each key the
 * last task. `since`: when its first became ready. No row if `when` does not hold.
 */
export const coalescedHead = (maxItems: string, when: string): string => `
      select q.*, q.seq = max(q.seq) over one_key as goes, min(q.ready_at) over one_key as since
      from (
        select q.*, case when starts_with(q.key, '${COALESCE_PREFIX}') then q.key else q.seq::text end as own_key
        from queue q
        where ${when} and q.target_id = t.id
        order by q.priority, q.seq limit ${mostCollected(maxItems)}) q
      window one_key as (partition by q.own_key)`;

/**
 * SQL of how many tasks of that head `e` would be sent; as many as fill a batch if too many wait.
 */
export const coalescedCount = (maxItems: string): string =>
  `case when count(*) >= ${mostCollected(maxItems)} then greatest(count(*) filter (where e.goes), ${maxItems})
      else count(*) filter (where e.goes) end`;
