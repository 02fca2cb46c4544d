/**
 * Part of statements that detach members from a batch that is failed, dead or unknown: `gone (seq,
 * batch_id)` are those that were taken out of `member`. A batch without members is
 * dissolved. The attempt number goes up and the reference is cleared: a late answer (or one that is
 * found by the reference) speaks of members that are no longer there, so it must not be written.
 */
export const DETACH_MEMBERS = `detached as (select batch_id, count(*)::int as n from gone group by batch_id),
shrunk as (
  update batch b set n_left = b.n_left + d.n,
    state = case when b.n_left + d.n = b.n then 7 /* dissolved */ else b.state end,
    finished_at = case when b.n_left + d.n = b.n then coalesce(b.finished_at, clock()) else b.finished_at end,
    attempt = b.attempt + (b.state = 3 /* unknown */)::int,
    reference = case when b.state <> 3 /* unknown */ then b.reference end, poll_at = null
  from detached d
  where b.id = d.batch_id)`;

/**
 * Part of the same statements: asks the downstream to stop parked batches that it accepted and
 * whose members are detached (cause 2: decided by hand). `where`: unless the decision is that they
 * were applied.
 */
export const cancelParked = (where = 'true'): string => `cancelled as (
  insert into cancellation (batch_id, handler_id, reference, why, next_at, requested_at)
  select b.id, t.handler_id, b.reference, 2 /* decision */, clock(), clock()
  from detached d join batch b on b.id = d.batch_id join target t on t.id = b.target_id
  where b.state = 3 /* unknown */ and b.reference is not null and ${where}
  on conflict (batch_id, md5(reference)) do nothing)`;
