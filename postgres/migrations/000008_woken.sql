-- Up Migration
-- Since when a wake has gone unanswered. Whoever wakes a leader or queuer (state = 1) sets it, a later wake keeps it, and the turn that answers
-- clears it: unlike `expires_at` it is not put off by the sweeper, which wakes a silent one again and again. Means something with state = 1 only.

alter table leader add column woken_at timestamptz;
alter table queuer add column woken_at timestamptz;
