-- Up Migration

-- What a target holds, in the order of a list: a page reads no more than it shows. Large installations create it
-- `concurrently` beforehand. The index that it replaces goes by itself (000031), since that waits for all readers.
create index if not exists held_target_seq on held (target_id, seq);

-- Down Migration

drop index held_target_seq;
