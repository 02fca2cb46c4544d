-- Up Migration
-- Each reading of an accepted batch's results takes an attempt number, also one that fails, so a smallint is used up after hours: then that batch, and
-- every statement about others with it, failed. The tables are rewritten. Programs of before go on with them: their statements take the wider type.

drop view state_count;
drop view task_state;
alter table batch alter column attempt type int;
alter table result_page alter column attempt type int;
alter table notification alter column attempt type int;
create view task_state as
  select t.seq, t.id, t.target_id, coalesce(m.batch_id, o.batch_id) batch_id,
    coalesce(o.attempts, m.attempts + b.counted, q.attempts, d.attempts, l.attempts, 0)::smallint attempts,
    coalesce(o.state, case when b.state = 1 and b.leader_id = 0 then lane_task_state((select s.status from submission s where s.batch_id = b.id))
      when b.state = 1 and b.attempt > 0 then 2::smallint else b.state end, 0::smallint) state
  from task t left join outcome o using (seq) left join member m using (seq) left join batch b on b.id = m.batch_id
    left join queue q on q.target_id = t.target_id and q.priority = t.priority and q.seq = t.seq left join delayed d on d.seq = t.seq
    left join lane_queue l on l.seq = t.seq;
create view state_count as
  select target_id, 0::smallint state, count(*) n from queue group by 1
  union all select target_id, 0::smallint, count(*) from delayed group by 1
  union all select target_id, 0::smallint, count(*) from lane_queue group by 1
  union all select b.target_id, case when b.state = 1 and b.leader_id = 0 then lane_task_state((select s.status from submission s where s.batch_id = b.id))
    when b.state = 1 and b.attempt > 0 then 2::smallint else b.state end, sum(b.n - b.n_left)::bigint from batch b where b.state <> 7 group by 1, 2
  union all select target_id, state, count(*) from outcome group by 1, 2;
