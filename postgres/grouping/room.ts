import { CALLS_OF_TARGET, WEIGHT_OF_TARGET } from '../limits/inForce';

/**
 * Holds where target `t` of handler `h` may have another call: fewer calls than allowed, and less
 * weight, or a batch that waits in the store, whose weight counts already. The invariant repeats
 * it, so that it finds a mistake here.
 */
export const HAS_ROOM = `(
  select count(*)
  from batch b
  where b.target_id = t.id and b.state = 1 /* open */ and b.dispatch is not null) < least(${CALLS_OF_TARGET}, t.allowed)
  and (${WEIGHT_OF_TARGET} is null
    or (
      select coalesce(sum(b.weight), 0)
      from batch b
      where b.target_id = t.id and b.state = 1 /* open */) < ${WEIGHT_OF_TARGET}
    or exists (
      select from batch b
      where b.target_id = t.id and b.state = 1 /* open */ and b.dispatch is null and b.reference is null
        and not b.refused))`;
