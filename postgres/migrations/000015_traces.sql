-- Up Migration

-- The W3C trace context under which a task was submitted (traceparent), if its trace is recorded; null takes no room.
alter table task add column trace text;

-- Down Migration

alter table task drop column trace;
