-- Up Migration

-- Which version of its handler's payloads a task was accepted as. Null: the first, which takes no room in a row.
alter table task add column version integer;

-- Objects of the object store to which nothing in these tables refers: not yet, since a submit writes its objects down
-- before it stores them and strikes them off where it commits; or no more, since their tasks were deleted. They are
-- deleted once they are due. Taken: that has begun, so they may not be struck off. Due never: struck off by a submit,
-- which has no right to delete rows.
create table unneeded_object (
  key text primary key,
  due_at timestamptz,
  taken boolean not null default false,
  tries integer not null default 0,
  error text
);
create index unneeded_object_due on unneeded_object (due_at);

-- Down Migration

drop table unneeded_object;
alter table task drop column version;
