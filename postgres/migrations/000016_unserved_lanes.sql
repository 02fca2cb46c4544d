-- Up Migration
-- The handlers for whose nodes a lane's next batches wait: no live process has them, or none holds the lane's partition. A lane that is
-- ready again may keep the last ones. A process of the version before leaves the column alone, and looks at such lanes every 3 s.

alter table lane_state add column unserved_by int[];
create index if not exists lane_unserved on lane_state using gin (unserved_by) where unserved_by is not null and not ready;

-- Down Migration

drop index lane_unserved;
alter table lane_state drop column unserved_by;
