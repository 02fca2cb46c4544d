-- Up Migration

-- An index that was created `concurrently` and failed is there, and serves nothing.
do $$ begin
  if not (select indisvalid from pg_index where indexrelid = 'held_target_seq'::regclass) then
    raise exception 'Cannot drop the index held_target: held_target_seq, which replaces it, is invalid.'
      using hint = 'Run: drop index held_target_seq; create index held_target_seq on held (target_id, seq);';
  end if;
end $$;
drop index held_target;

-- Down Migration

create index held_target on held (target_id);
