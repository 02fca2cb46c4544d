import type { Client } from '../pool';

/**
 * Marks lanes ready whose time has come, and the first of those that wait for a limit of a handler.
 * Runs under the queuer's lock, after something has ended, so that no end is missed between a look
 * and what it writes. Of the waiting lanes it marks at most as many as the handler has free calls,
 * and at most `most` in all, which is fewer than a grant looks at: lanes that may not send would
 * otherwise be looked at again and again in place of other handlers' lanes.
 */
export const promoteDueLanes = async (client: Client, queuerId: number, most: number): Promise<void> => {
  await client.query({
    name: 'promote-due-lanes',
    text: `
update lane_state s set ready = true, due_at = null, blocked_by = null
from (
  select lane_id
  from lane_state
  where lane_id = any(array(
      select lane_id
      from lane_state
      where queuer_id = $1 and due_at <= clock() and not ready and blocked_by is null)
      || array(
        select w.lane_id
        from (
          (
            select lane_id, served
            from lane_state
            where queuer_id = $1 and due_at <= clock() and not ready and blocked_by is not null
            order by due_at limit $2)
          union (
            select b.lane_id, b.served
            from (
              select h.id, least(h.per_handler, h.allowed) as calls
              from handler h
              where exists (select from lane_state where blocked_by = h.id) offset 0) h
              cross join lateral (
                select count(*) filter (where status = 3 /* submitted */) as calls
                from lane_batch
                where handler_id = h.id and status between 2 /* unknown */ and 5 /* valid */) u
              cross join lateral (
                select lane_id, served
                from lane_state
                where blocked_by = h.id and queuer_id = $1 and not ready
                order by served, lane_id limit greatest(0, least($2, h.calls - u.calls))) b)) w
        order by w.served, w.lane_id limit $2))
  order by lane_id for no key update) l
where s.lane_id = l.lane_id`,
    values: [queuerId, most],
  });
};
