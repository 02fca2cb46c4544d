/**
 * Holds where target `t` of handler `h` may have another call: fewer calls than allowed, and less
 * weight, or a batch that waits in the store, whose weight counts already. The invariant repeats
 * it, so that it finds a mistake here.
 */
export const HAS_ROOM = `(
  select count(*)
  from batch b
  where b.target_id = t.id and b.state = 1 /* open */ and b.dispatch is not null) < least(h.per_target, t.allowed)
  and (h.weight_per_target is null
    or (
      select coalesce(sum(b.weight), 0)
      from batch b
      where b.target_id = t.id and b.state = 1 /* open */) < h.weight_per_target
    or exists (
      select from batch b
      where b.target_id = t.id and b.state = 1 /* open */ and b.dispatch is null and b.reference is null
        and not b.refused))`;
