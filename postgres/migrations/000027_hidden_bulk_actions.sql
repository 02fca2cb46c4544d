-- Up Migration

-- When the next step is due of an action that programs from before this migration would make wrongly, since they ignore
-- fields that they do not know: `due_at` is then 'infinity' until it has ended. Null: `due_at` says it.
alter table bulk_action add column step_at timestamptz,
  add constraint bulk_action_step_check check (step_at is null or due_at is null or due_at = 'infinity');

-- Down Migration

-- What remains would make them wrongly.
update bulk_action set state = 3 /* stopped */, due_at = null, finished_at = clock(), changed_at = clock()
where step_at is not null and due_at is not null;
alter table bulk_action drop column step_at;
