-- Up Migration
-- The handler for whose node a lane's next batch waits: no live process has that handler, or none holds the lane's partition. A lane that is
-- ready again may keep the last one. A process of the version before leaves the column alone, and looks at such lanes every 3 s.

alter table lane_state add column unserved_by int references handler;
create index if not exists lane_unserved on lane_state (unserved_by) where unserved_by is not null and not ready;

-- Down Migration

drop index lane_unserved;
alter table lane_state drop column unserved_by;
