/**
 * Part of statements by which members leave a batch that is failed, dead or unknown: `gone (seq,
 * batch_id)` are those that were taken out of `member`. A batch that all members have left is
 * dissolved. The attempt number goes up and the reference is cleared: a late answer (or one that is
 * found by the reference) speaks of members that are no longer there, so it must not be written.
 */
export const LEAVE_BATCHES = `leaving as (select batch_id, count(*)::int as n from gone group by batch_id),
left_behind as (
  update batch b set n_left = b.n_left + l.n, state = case when b.n_left + l.n = b.n then 7 else b.state end,
    finished_at = case when b.n_left + l.n = b.n then coalesce(b.finished_at, clock()) else b.finished_at end,
    attempt = b.attempt + (b.state = 3 /* unknown */)::int, reference = case
      when b.state <> 3 /* unknown */ then b.reference end, poll_at = null
  from leaving l where b.id = l.batch_id)`;

/**
 * Part of the same statements: asks the downstream to stop parked batches that it accepted and that
 * members leave (cause 2: decided by hand). `where`: unless the decision is that they were applied.
 */
export const giveUpLeft = (where = 'true'): string => `given_up as (
  insert into cancellation (batch_id, handler_id, reference, why, next_at, requested_at)
  select b.id, t.handler_id, b.reference, 2, clock(), clock() from leaving l join batch b on b.id = l.batch_id
    join target t on t.id = b.target_id
  where b.state = 3 /* unknown */ and b.reference is not null and ${where}
  on conflict (batch_id, md5(reference)) do nothing)`;
