-- Up Migration
-- How often back pressure has reduced a limit: a call is made under the reduction that its sender knew, and its refusal counts only while
-- that is the last one. So calls that are refused together reduce it once. A process of the version before leaves the numbers alone.

alter table handler add column reductions int not null default 0;
alter table target add column reductions int not null default 0;

-- In flight to be looked up (its outcome was unknown when it was granted), not to be sent: nothing else of its lane goes meanwhile.
alter table submission add column resolving bool not null default false;
