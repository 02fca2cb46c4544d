-- Up Migration
-- When a message was written: part of the id under which receivers know it. After a restored backup its number comes again. Rows of
-- before have none, and keep the id under which they may have been sent.

alter table notification add column created_at timestamptz;
alter table notification alter column created_at set default clock();

-- Down Migration
alter table notification drop column created_at;
