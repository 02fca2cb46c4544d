-- Up Migration

-- What a target holds, in the order of a list: a page reads no more than it shows. Large installations create it
-- `concurrently` beforehand.
create index if not exists held_target_seq on held (target_id, seq);
drop index held_target;

-- Down Migration

create index held_target on held (target_id);
drop index held_target_seq;
